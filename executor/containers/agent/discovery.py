"""Which toolchains are on this disk: the table's own discovery, told by the names of its rows."""

from __future__ import annotations

import os
from pathlib import Path

import runtimes

from .messages import FoundLanguage


def discover() -> dict[str, FoundLanguage]:
    """Candidates of every language, as `executor.containers.toolchains` reads them."""
    search_path = os.environ.get("PATH", os.defpath).split(":")
    home = Path("/home/sandbox")
    found: dict[str, FoundLanguage] = {}
    for row in runtimes.LANGUAGES:
        discovery = runtimes.discover(row, search_path, None, home, dict(os.environ))
        found[row.name] = {
            "candidates": [
                {
                    "toolchain": candidate.toolchain.name,
                    "paths": dict(candidate.paths),
                    "real_paths": dict(candidate.real_paths),
                    "fingerprint": list(candidate.fingerprint),
                    "env": dict(candidate.env),
                }
                for candidate in discovery.candidates
            ],
            "passed_over": list(discovery.passed_over),
        }
    return found
