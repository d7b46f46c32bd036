"""The table of languages, and how a name, an alias or a file leads to its row."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from runtimes.languages.c_family import CPP, C
from runtimes.languages.csharp import CSHARP
from runtimes.languages.ecmascript import JAVASCRIPT, TYPESCRIPT
from runtimes.languages.elixir import ELIXIR
from runtimes.languages.go import GO
from runtimes.languages.java import JAVA
from runtimes.languages.lua import LUA
from runtimes.languages.perl import PERL
from runtimes.languages.php import PHP
from runtimes.languages.python import PYTHON
from runtimes.languages.r import R
from runtimes.languages.ruby import RUBY
from runtimes.languages.rust import RUST
from runtimes.languages.shell import SHELL
from runtimes.model import Language

LANGUAGES: Final[tuple[Language, ...]] = (
    JAVASCRIPT,
    TYPESCRIPT,
    PYTHON,
    SHELL,
    RUBY,
    GO,
    RUST,
    PHP,
    PERL,
    R,
    ELIXIR,
    CSHARP,
    JAVA,
    C,
    CPP,
    LUA,
)

_BY_NAME: Final = {name: row for row in LANGUAGES for name in (row.name, *row.aliases)}
_BY_EXTENSION: Final = {ext.lower(): row for row in LANGUAGES for ext in row.extensions}
_BY_INTERPRETER: Final = {name: row for row in LANGUAGES for name in row.interpreters}

# A `#!` line longer than this is no kernel's business (BINPRM_BUF_SIZE is 256).
_SHEBANG_BYTES = 256


class UnknownLanguage(LookupError):  # noqa: N818 - reads as what it is
    """No row answers to this name; the message says which ones come close."""


def language(name: str) -> Language:
    """The row for a name or alias, whatever its case.

    Raises:
        UnknownLanguage: nothing is called that.
    """
    wanted = name.strip().lower()
    if row := _BY_NAME.get(wanted):
        return row
    close = difflib.get_close_matches(wanted, _BY_NAME, n=3)
    meant = f"did you mean {' or '.join(close)}? " if close else ""
    known = ", ".join(row.name for row in LANGUAGES)
    raise UnknownLanguage(f"unknown language {name!r}: {meant}Known languages: {known}")


def language_for_file(path: Path) -> Language:
    """The row for a file, by its extension, else by its `#!` line.

    Raises:
        UnknownLanguage: neither tells, or it is no file.
        OSError: a file without a known extension cannot be read.
    """
    if row := _BY_EXTENSION.get(path.suffix.lower()):
        return row
    if path.exists() and not path.is_file():
        raise UnknownLanguage("a program is a regular file")
    with path.open("rb") as file:
        first = file.read(_SHEBANG_BYTES).split(b"\n", 1)[0].decode("utf-8", "replace")
    for word in _shebang_names(first):
        if row := _BY_INTERPRETER.get(word) or _BY_INTERPRETER.get(word.rstrip("0123456789.")):
            return row
    raise UnknownLanguage(
        f"cannot tell the language of {path.name!r} from its extension or first line: name one"
    )


def _shebang_names(line: str) -> Iterator[str]:
    """The program a `#!` line starts, or the one that it has `env` start."""
    words = line.removeprefix("#!").split() if line.startswith("#!") else []
    for word in words:
        name = Path(word).name
        if name == "env" or word.startswith("-") or "=" in word:
            continue
        yield name
        return
