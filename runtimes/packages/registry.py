"""All ecosystems as they are listed, and packages that a program lacked by its error output."""

from __future__ import annotations

import re
import sys
from typing import Final

from runtimes.packages.csharp import CSHARP
from runtimes.packages.elixir import ELIXIR
from runtimes.packages.go import GO
from runtimes.packages.java import JAVA
from runtimes.packages.javascript import JAVASCRIPT
from runtimes.packages.lua import LUA
from runtimes.packages.perl import PERL
from runtimes.packages.php import PHP
from runtimes.packages.python import PYTHON
from runtimes.packages.r import R
from runtimes.packages.ruby import RUBY
from runtimes.packages.rust import RUST
from runtimes.packages.tools import Ecosystem

ECOSYSTEMS: Final[tuple[Ecosystem, ...]] = (
    *(PYTHON, JAVASCRIPT, RUBY, GO, RUST, R),
    *(PHP, PERL, LUA, JAVA, CSHARP, ELIXIR),
)
BY_NAME: Final = {row.name: row for row in ECOSYSTEMS}
_OF_LANGUAGE: Final = {language: row for row in ECOSYSTEMS for language in row.languages}


def ecosystem_of(language: str) -> Ecosystem | None:
    """The ecosystem of a language by its row's name; None where it has none here."""
    return _OF_LANGUAGE.get(language)


LINES_MAX = 400  # of what is looked at, the last of them
LINE_CHARACTERS_MAX = 2000
NAMED_MAX = 3
OWN_MODULES = {"python": sys.stdlib_module_names}
"""What comes with a language: where that is missing, no registry has it."""


def find_missing(language: str, text: str) -> tuple[str, ...]:
    """The packages that an error output of a language's program says are not there, by the names
    that `packages` takes. At most three; empty for a language without an ecosystem."""
    row = ecosystem_of(language)
    if row is None or not row.missing:
        return ()
    found: dict[str, None] = {}
    for line in text.splitlines()[-LINES_MAX:]:
        match = re.search(row.missing, line[:LINE_CHARACTERS_MAX])
        named = match and next(filter(None, match.groups()), None)
        if not named or named in OWN_MODULES.get(row.name, ()):
            continue
        package = row.published.get(named, named)
        if re.fullmatch(row.spec, package):
            found[package] = None
    return tuple(found)[:NAMED_MAX]
