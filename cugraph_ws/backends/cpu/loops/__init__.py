"""Small loops of algorithms that are no vertex programs; the same names as for the GPU."""
