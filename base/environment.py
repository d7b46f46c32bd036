"""The environment of the command that is worked on: this process's, or that of a client."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextvars import ContextVar

client_environ: ContextVar[Mapping[str, str]] = ContextVar("client_environ", default=os.environ)
"""Set where a server works for a process with another environment."""
