"""Benchmarks on several GPUs of one host: `parts` lists them.  See `bench.parts.Part` for the functions' arguments."""
