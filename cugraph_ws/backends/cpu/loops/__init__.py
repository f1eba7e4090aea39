"""Small loops of algorithms that are not vertex programs; the same names as for the GPU."""
