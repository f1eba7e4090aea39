"""Graphs: ids to numbers, edges grouped in rows, attributes, estimates of memory."""
