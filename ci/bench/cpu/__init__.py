"""Benchmarks on the cores of a CPU: `parts` lists them; what their functions take, `bench.parts.Part` says."""
