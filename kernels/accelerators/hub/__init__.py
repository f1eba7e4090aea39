"""Kernels of the host hub."""
