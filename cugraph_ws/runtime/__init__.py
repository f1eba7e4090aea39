"""The machine: devices, drivers, compilers, threads, files, the communicator, and the table of providers."""
