"""Entry of a chunking worker: `python -I -S …/workers/__main__.py PATHS`, a socket as its input."""

import json
import socket
import sys

# The same modules as in the requesting process, wherever it found them.
sys.path.extend(json.loads(sys.argv[1]))

from kb.chunking import do_order
from kb.workers import serve

if __name__ == "__main__":
    with socket.socket(fileno=0) as connection:
        serve(connection, do_order)
