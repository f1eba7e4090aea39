"""Loops over edges and vertices, one package for each kind of hardware; no policy in here."""
