"""Graphs partitioned across ranks: ownership, halos, and the exchange between ranks."""
