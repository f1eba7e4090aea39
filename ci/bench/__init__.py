"""Benchmarks, checks on GPUs and the record of both: `python -m bench --help` names the commands."""
