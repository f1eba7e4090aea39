"""Dense supersteps over shards of arcs on the GPU, and how the arcs are put there."""
