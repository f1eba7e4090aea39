"""Runs: supersteps until convergence, with progress, checkpoints and a trace."""
