"""What of a request's own values is a secret, before they become part of an order.

Files of the project are judged by `fleet.travel` and `fleet.file_reading`: a secret one stays. What
a caller wrote for this one run cannot be left out of it, so the run is refused, or stays here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from executor.model import Request
from policy.secrets import find_secrets, is_secret_path
from policy.secrets.telling_names import kind_of

SHELL_NAMES: Final = frozenset({"PWD", "OLDPWD"})
"""Variables that look like passwords and say where a shell is."""
NAME_CHARACTERS_SHOWN = 80


def find_secret(request: Request) -> str:
    """Say which value of a request is a secret, and why; nothing if none is.

    Secret is what bears a secret's name and is not empty, and what holds a token, a private key, or
    another secret by its form. The answer never holds the value. It takes time in proportion to
    the values: 12 MiB, the most that an order holds, took 0.7 to 4.4 s, so call it in a thread.
    """
    return next(_find(request), "")


def _find(request: Request) -> Iterator[str]:
    for name, value in request.env.items():
        if value and name not in SHELL_NAMES and kind_of(name.encode("utf-8", "surrogatepass")):
            yield f"env {_shown(name)} bears a secret's name"
    for name, content in request.files.items():
        if content and is_secret_path(name):
            yield f"file {_shown(name)} bears a secret's name"
    for where, given in _values(request):
        if found := find_secrets(given):
            yield f"{where} holds a {found[0].kind}"


def _values(request: Request) -> Iterator[tuple[str, str | bytes]]:
    """All that a caller may write freely, and how it is called."""
    for name, value in request.env.items():
        yield "the name of a variable", name
        yield f"env {_shown(name)}", value
    for name, content in request.files.items():
        yield "the name of a file", name
        yield f"file {_shown(name)}", content
    yield "stdin", request.stdin or b""
    yield "the code", request.code or ""
    yield "an argument", "\n".join(request.args)
    yield "the name of a package", "\n".join(request.packages)
    yield "the name of an artifact", "\n".join(request.artifacts)
    yield "the intent", request.intent or ""


def _shown(name: str) -> str:
    if name.isprintable() and len(name) <= NAME_CHARACTERS_SHOWN:
        return name
    return repr(name[:NAME_CHARACTERS_SHOWN])
