"""All ecosystems, in the order in which they are listed."""

from __future__ import annotations

from typing import Final

from runtimes.packages.csharp import CSHARP
from runtimes.packages.elixir import ELIXIR
from runtimes.packages.go import GO
from runtimes.packages.java import JAVA
from runtimes.packages.javascript import JAVASCRIPT
from runtimes.packages.lua import LUA
from runtimes.packages.model import Ecosystem
from runtimes.packages.perl import PERL
from runtimes.packages.php import PHP
from runtimes.packages.python import PYTHON
from runtimes.packages.r import R
from runtimes.packages.ruby import RUBY
from runtimes.packages.rust import RUST

ECOSYSTEMS: Final[tuple[Ecosystem, ...]] = (
    *(PYTHON, JAVASCRIPT, RUBY, GO, RUST, R),
    *(PHP, PERL, LUA, JAVA, CSHARP, ELIXIR),
)
BY_NAME: Final = {row.name: row for row in ECOSYSTEMS}
_OF_LANGUAGE: Final = {language: row for row in ECOSYSTEMS for language in row.languages}


def ecosystem_of(language: str) -> Ecosystem | None:
    """The ecosystem of a language by its row's name; None where it has none here."""
    return _OF_LANGUAGE.get(language)
