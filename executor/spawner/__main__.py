"""Entry point of the spawner's process: `python -I -S …/spawner/__main__.py FD`."""

import os
import sys
from pathlib import Path

# In this process only this package is importable: no other module of the program, no site-packages.
sys.path.append(str(Path(__file__).parents[1]))

from spawner.cell import serve

if __name__ == "__main__":
    serve(int(sys.argv[1]))
    os._exit(0)  # the process that closed the socket waits, and there is nothing to clean up
