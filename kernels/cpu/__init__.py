"""Numba loops for the CPU: serial over a range, GIL released, arrays in and out."""
