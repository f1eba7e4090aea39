"""Benchmarks on several GPUs of one host."""
