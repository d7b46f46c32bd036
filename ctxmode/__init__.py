"""The front door: composition root, command line `context-mode`, MCP server, configuration."""

import sys
from pathlib import Path

__version__ = "0.1.0"

# In the wheel the plain-named rooms (executor, policy, kb, runtimes) ride below this
# package, because PyPI has distributions of those names; in a checkout they lie beside it.
_ROOMS = Path(__file__).with_name("_lib")
if _ROOMS.is_dir():
    sys.path.insert(0, str(_ROOMS))
