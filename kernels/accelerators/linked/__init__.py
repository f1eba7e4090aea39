"""Supersteps of frontiers, with their exchange between GPUs that address each other, in one launch."""
