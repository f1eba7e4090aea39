"""The CUDA engine: kernels, and what launches them."""
