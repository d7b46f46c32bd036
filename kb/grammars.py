"""Definitions in programs, per language, as tree-sitter queries.

The rows are in `grammars.toml`. `@def` is a definition and `@name` its name (`@owner` its owner, if
that is separate). `@lead` belongs to the definition that directly follows it (comments,
attributes), `@wrap` to the `@inner` one it contains (decorators, export). To add a language: a row
there, or `definitions.scm` in the folder of one that runs, and a sample in tests/kb/test_code.py.

Grammars come from tree-sitter-language-pack, loaded one at a time when first needed. Its `cobol` is
left out: its scanner never returns on some short inputs.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, cast

from runtimes.languages import list_languages, read_file

if TYPE_CHECKING:
    from tree_sitter import Language, Query
    from tree_sitter_language_pack import SupportedLanguage


def _load_queries() -> dict[str, str]:
    rows = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    queries: dict[str, str] = {}
    for row in rows["definitions"]:
        for language in row["languages"]:
            queries[language] = queries.get(language, "") + row["query"]
    own = {name: read_file(f"{name}/definitions.scm") for name in list_languages("definitions.scm")}
    return queries | own


QUERIES = _load_queries()
"""Definitions by language. If a pattern has no `@name`, the node's `name` field is the name."""


@cache
def grammar(language: str) -> tuple[Language, Query]:
    """Return the grammar of `language`, and the query for its definitions.

    Raises:
        KeyError: no row in `QUERIES` describes it.
    """
    from tree_sitter import Query  # noqa: PLC0415 - grammars load when first needed
    from tree_sitter_language_pack import get_language  # noqa: PLC0415

    source = QUERIES[language]
    loaded = get_language(cast("SupportedLanguage", language))
    return loaded, Query(loaded, source)
