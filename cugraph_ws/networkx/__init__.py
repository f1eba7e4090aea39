"""The NetworkX backend: functions of NetworkX on graphs of this library.

NetworkX finds it by the entry points of `pyproject.toml`; `nx.config.backend_priority = ["cugraph_ws"]` turns it
on.  A NetworkX graph is converted once, to arrays of node positions (`convert`), and kept by NetworkX until it
changes.  Each function checks what NetworkX's own checks, calls this library's, and returns NetworkX's objects.
"""
