"""Loops that accelerators launch, a package each; see `cugraph_ws.contract.Accelerator`."""
