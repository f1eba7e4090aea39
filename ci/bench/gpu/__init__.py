"""Benchmarks on one GPU: `parts` lists them.  See `bench.parts.Part` for the functions' arguments."""
