"""Bearer tokens: where they come from, and whose a token is."""

from __future__ import annotations

import hmac
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ctxmode.errors import UsageError, why

TOKEN_CHARS_MIN = 20
"""RFC 6750 leaves the length open; 20 characters of base64 are 120 bits."""

VARIABLE = "CONTEXT_MODE_TOKEN"
NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")


@dataclass(frozen=True, slots=True)
class Tokens:
    """Who may come in: a name for each token. `source` says where they were read."""

    names: Mapping[str, str]
    source: str

    def name_of(self, given: str) -> str | None:
        """Find whose token this is; the time it takes says nothing about the tokens."""
        found = None
        for token, name in self.names.items():
            if hmac.compare_digest(token.encode(), given.encode()):
                found = name
        return found


def load_tokens(file: Path | None, environ: Mapping[str, str], default: Path) -> Tokens:
    """Load the tokens of `file`, else of CONTEXT_MODE_TOKEN, else of `default`, made if missing. A
    line is a token, or a name and a token. A UsageError names a token that is too short, or a file
    that others can read."""
    if file is not None:
        return Tokens(_read(file), str(file))
    if given := environ.get(VARIABLE):
        return Tokens(_parse(given, VARIABLE), VARIABLE)
    try:
        fd = os.open(default, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return Tokens(_read(default), str(default))
    with os.fdopen(fd, "w") as made:
        made.write(f"{secrets.token_urlsafe(32)}\n")
    return Tokens(_read(default), str(default))


def _read(file: Path) -> dict[str, str]:
    try:
        mode = file.stat().st_mode
        text = file.read_text("utf-8")
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{file} cannot be read: {why(error)}", "Give a file with one token a line."
        ) from error
    if mode & 0o077:
        raise UsageError(f"{file} can be read by others", f"Run: chmod 600 {file}")
    return _parse(text, str(file))


def _parse(text: str, place: str) -> dict[str, str]:
    names: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        if not words or line.startswith("#"):
            continue
        name, token = words if len(words) == 2 else ("default", words[0])
        if len(words) > 2 or not NAME.fullmatch(name):
            raise UsageError(
                f"{place}:{number}: not a token", "A line is TOKEN, or NAME and TOKEN."
            )
        if len(token) < TOKEN_CHARS_MIN or not token.isascii():
            raise UsageError(
                f"{place}:{number}: a token has at least {TOKEN_CHARS_MIN} ASCII characters",
                "Make one with: python3 -c 'import secrets; print(secrets.token_urlsafe(32))'",
            )
        names[token] = name
    if not names:
        raise UsageError(f"{place} holds no token", "Put one on a line of its own.")
    return names
