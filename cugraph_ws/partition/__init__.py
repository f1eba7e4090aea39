"""Graphs in parts, one for each rank: who owns what, and what ranks tell each other."""
