"""Partitions of a graph, and how they exchange the state of boundary vertices."""
