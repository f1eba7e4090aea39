"""Checks on a GPU that are no tests: random graphs, small graphs for the sanitizer, memory over many runs."""
