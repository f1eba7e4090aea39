"""Benchmarks on the cores of a CPU."""
