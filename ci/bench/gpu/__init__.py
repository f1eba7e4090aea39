"""Benchmarks on one GPU: `parts` lists them; what their functions take, `bench.parts.Part` says."""
