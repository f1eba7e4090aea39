"""Graphs: vertex numbering, edges grouped in rows, attributes, memory estimates."""
