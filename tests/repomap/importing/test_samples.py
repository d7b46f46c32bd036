"""Imports of programs in the folders of languages: each statement means files of a small tree."""

from __future__ import annotations

import pytest
from tree_sitter import Parser

from kb import grammars
from repomap.import_queries import find_imports
from repomap.importing import Resolver
from tests.samples import read_samples

ROWS = {name: rows for name, rows in read_samples("imports").items() if rows}
CASES = [(name, *row) for name, rows in ROWS.items() for row in rows]


@pytest.mark.parametrize(("name", "path", "text", "wanted"), CASES)
def test_a_statement_means_these_files(name, path, text, wanted):
    paths = {one for row in ROWS[name] for one in (row[0], *row[2].split())}
    root = Parser(grammars.grammar(name)[0]).parse(text.encode()).root_node
    resolver = Resolver(paths, lambda _: None)
    found = [
        one
        for each in find_imports(text.encode(), name, root)
        for one in resolver.resolve(path, name, each)
    ]
    assert sorted(found) == sorted(wanted.split())
