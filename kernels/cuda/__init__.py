"""CUDA kernels in Python, compiled by Numba: loops over edges and vertices, no policy in here."""
