"""Programs of every language for the tests that hold for all: `samples.toml` in its folder.

`fails` writes "to stderr" there and exits with 3; `args` prints its arguments, one a line; `stdin`
prints how many lines it reads; `unicode` prints UNICODE; `big` prints BIG. `count` prints how many
lines the bound file has. `shows` prints its path, a line feed and its content, and is a whole
program; `shows_bare` prints the number of characters of "dév\\n", a space and the path. `line_3`
fails in its third line; the second text matches how that is reported. `works` imports something,
and adds up the numbers below 1,000 in four threads, or what the language has. `starts_tool` starts
`tool x`. Of `starts_rm` each first program starts `rm -rf build`, each second one does not.
`writes_bound` writes to the bound file. `definitions` are a program and the titles of its parts, in
the order of the text; each of `imports` is a file, its text, and the files that it imports, of
those of all rows. `scripts` are files; the first prints "sibling says 42", if
it can, with the help of the others.
"""

from __future__ import annotations

from typing import Any

from runtimes import LANGUAGES
from runtimes.languages import read_table

UNICODE = "héllo wörld ✓ 日本語 🎉"
BIG = ("x" * 99 + "\n") * 2048


def read_samples(kind: str) -> dict[str, Any]:
    """Return the programs of one kind by language; languages without one are left out."""
    tables = {row.name: read_table(f"{row.name}/samples.toml") for row in LANGUAGES}
    return {name: table[kind] for name, table in tables.items() if kind in table}
