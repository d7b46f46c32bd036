"""Entry of the spawner's process: `python -I -S …/spawner/__main__.py FD`."""

import os
import sys
from pathlib import Path

# In this process the package stands alone: nothing else of the program, no site-packages.
sys.path.append(str(Path(__file__).parents[1]))

from spawner.cell import serve

if __name__ == "__main__":
    serve(int(sys.argv[1]))
    os._exit(0)  # whoever closed the socket waits, and there is nothing to put in order
