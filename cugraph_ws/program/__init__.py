"""Vertex programs: declared, checked, typed, bound to a graph, and turned into source."""
