"""Entry of a chunking worker: `python -I -S …/workers/__main__.py PATHS`, a socket as its input."""

import json
import socket
import sys
from pathlib import Path
from types import ModuleType

# The same modules as in the process that asks, wherever it found them; but of this room only what
# is named, for the room's front imports all of it and takes as long again to start.
sys.path.extend(json.loads(sys.argv[1]))
room = ModuleType("kb")
room.__path__ = [str(Path(__file__).parents[1])]
sys.modules["kb"] = room

from kb.workers.serve import answer  # noqa: E402 - behind the paths
from kb.workers.serving import serve  # noqa: E402

if __name__ == "__main__":
    with socket.socket(fileno=0) as connection:
        serve(connection, answer)
