"""How a toolchain is asked for its version, and what in the answer is one."""

from __future__ import annotations

import re
from typing import Final

from runtimes.model import Candidate

_NUMBER: Final = re.compile(r"\d+\.\d+(?:\.\d+)*(?:[-+~.\w]*\w)?")


def version_argv(candidate: Candidate) -> tuple[str, ...]:
    """The command that prints the version of the candidate's first executable."""
    return (candidate.path, *candidate.toolchain.version)


def parse_version(answer: str) -> str | None:
    """The first dotted number of an answer, with what is attached to it; None if there is none."""
    found = _NUMBER.search(answer)
    return found.group() if found else None
