"""Entry of a describing worker: `python -I -S …/workers/__main__.py PATHS`, a socket as input."""

import json
import socket
import sys

# The same modules as in the calling process, wherever it found them.
sys.path.extend(json.loads(sys.argv[1]))

from kb.workers import serve
from repomap.workers import do_order

if __name__ == "__main__":
    with socket.socket(fileno=0) as connection:
        serve(connection, do_order)
