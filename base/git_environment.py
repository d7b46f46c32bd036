"""What git is run with where no configuration, attribute or prompt of anybody's may count."""

from __future__ import annotations

from collections.abc import Mapping

GIT_PATH = "/usr/local/bin:/usr/bin:/bin"
ISOLATED: Mapping[str, str] = {
    "PATH": GIT_PATH,
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
"""The whole environment; who runs git adds what its task needs."""
