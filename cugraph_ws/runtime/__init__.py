"""The machine: devices, drivers, compilers, threads, files, communicators, the dispatch table."""
