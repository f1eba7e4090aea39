"""The CPU engine: compiled loops over ranges of vertices and arcs, on threads."""
