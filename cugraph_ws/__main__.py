"""`python -m cugraph_ws`: the command line."""

from cugraph_ws.cli.main import main

if __name__ == "__main__":
    main()
