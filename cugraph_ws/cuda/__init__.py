"""Graphs and engines on a GPU: memory, machine code, launches."""
