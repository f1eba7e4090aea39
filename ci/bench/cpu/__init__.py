"""Benchmarks on the cores of a CPU: `parts` lists them.  See `bench.parts.Part` for the functions' arguments."""
