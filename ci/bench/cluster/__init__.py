"""Benchmarks on several GPUs of one host: `parts` lists them; what their functions take, `bench.parts.Part` says."""
