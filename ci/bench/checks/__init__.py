"""Checks outside the test suite: random graphs, small graphs for the sanitizer, memory leaks, stops."""
