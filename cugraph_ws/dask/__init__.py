"""Clusters: the client, the workers, and their communication through Dask and NCCL."""
