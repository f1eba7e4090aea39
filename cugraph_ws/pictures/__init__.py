"""Pictures: positions of vertices, and drawings of graphs and results."""
