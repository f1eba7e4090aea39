"""Clusters: the client, the workers, and what they say to each other through Dask and NCCL."""
