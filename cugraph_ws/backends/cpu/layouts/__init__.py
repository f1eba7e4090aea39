"""How arcs are stored for supersteps, a module each; see `cugraph_ws.contract.Layout`."""
