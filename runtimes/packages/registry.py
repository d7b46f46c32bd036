"""Ecosystems, and detection of missing packages by a program's error output.

Each is the file `packages.toml` of a language. There, `lock`, `fetch` and `build` name the programs
that make a phase's script. `parts` are parts of its patterns, named there in angle brackets. Tools
go by their names.
"""

from __future__ import annotations

import re
import sys
from typing import Any, Final

from runtimes.languages import list_languages, read_file, read_table
from runtimes.packages.tools import CARGO, TOOLS, Ecosystem

_FILE_IN_FILE: Final = re.compile(r"^@([\w/]+\.\w+)@(?=END$)", re.MULTILINE)
_TOOLS: Final = {tool.name: tool for tool in (*TOOLS, CARGO)}


def _read_program(path: str) -> str:
    """Read a program; a line `@FILE@` before the END of a shell text is replaced by that file."""
    return _FILE_IN_FILE.sub(lambda found: _read_program(found[1]), read_file(path))


def _read_row(name: str) -> Ecosystem:
    """Read the row of an ecosystem, with its scripts, patterns and tools put together."""
    row: dict[str, Any] = {"name": name, **read_table(f"{name}/packages.toml")}
    for phase in {"lock", "fetch", "build"} & row.keys():
        row[phase] = "".join(map(_read_program, row[phase]))
    parts: dict[str, str] = {}
    for part, pattern in row.pop("parts", {}).items():
        parts[part] = _join_parts(pattern, parts)
    for pattern in {"spec", "missing"} & row.keys():
        row[pattern] = _join_parts(row[pattern], parts)
    for field in {"tools", "beside"} & row.keys():
        row[field] = [_TOOLS[tool] for tool in row[field]]
    lock_tools = row.pop("lock_tools", {})
    row["lock_tools"] = {file: _TOOLS[tool] for file, tool in lock_tools.items()}
    return Ecosystem(**{field: _to_tuples(value) for field, value in row.items()})


def _to_tuples(value: Any) -> Any:  # noqa: ANN401 - as TOML has it
    """Return a value of TOML with its lists as tuples."""
    return tuple(map(_to_tuples, value)) if isinstance(value, list) else value


def _join_parts(pattern: str, parts: dict[str, str]) -> str:
    """Replace the names in angle brackets in a pattern by their parts."""
    for name, part in parts.items():
        pattern = pattern.replace(f"<{name}>", part)
    return pattern


ECOSYSTEMS: Final = (*map(_read_row, list_languages("packages.toml")),)
BY_NAME: Final = {row.name: row for row in ECOSYSTEMS}
_OF_LANGUAGE: Final = {language: row for row in ECOSYSTEMS for language in row.languages}


def ecosystem_of(language: str) -> Ecosystem | None:
    """Return the ecosystem of a language by its row's name; None if it has none here."""
    return _OF_LANGUAGE.get(language)


LINES_MAX = 400  # of the output, from its end
LINE_CHARACTERS_MAX = 2000
NAMED_MAX = 3
OWN_MODULES = {"python": sys.stdlib_module_names}
"""Modules that come with a language: no registry has them."""


def find_missing(language: str, text: str) -> tuple[str, ...]:
    """Return the packages that a program's error output reports missing, by the names that
    `packages` accepts. At most three; empty for a language without an ecosystem."""
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
