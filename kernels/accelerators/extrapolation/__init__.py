"""Sums and combinations of a run's last vectors, on the CPU and on the GPU."""
