"""The front door: composition root, command line `context-mode`, MCP server, configuration."""

import os
import sys

__version__ = "0.1.0"

# In the wheel the plain-named rooms (executor, policy, kb, ...) ride below this
# package, because PyPI has distributions of those names; in a checkout they lie beside it.
_ROOMS = os.path.join(os.path.dirname(__file__), "_lib")
if os.path.isdir(_ROOMS) and _ROOMS not in sys.path:
    sys.path.insert(0, _ROOMS)
