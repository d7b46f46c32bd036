"""Entry of a describing worker: `python -I -S …/workers/__main__.py PATHS`, a socket as input."""

import json
import socket
import sys
from pathlib import Path
from types import ModuleType

# The same modules as in the process that asks, wherever it found them; but of the kb only what is
# named, for its front imports all of it.
sys.path.extend(json.loads(sys.argv[1]))
room = ModuleType("kb")
room.__path__ = [str(Path(__file__).parents[2] / "kb")]
sys.modules["kb"] = room

from kb.workers.serving import serve  # noqa: E402 - behind the paths
from repomap.workers.wire import answer  # noqa: E402

if __name__ == "__main__":
    with socket.socket(fileno=0) as connection:
        serve(connection, answer)
