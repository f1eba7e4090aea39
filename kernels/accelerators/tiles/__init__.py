"""Loops over tiles of arcs on the CPU."""
