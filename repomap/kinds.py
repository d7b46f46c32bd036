"""Which files are tests, and which are prose or data, by their names."""

from __future__ import annotations

import re

_TEST_FOLDERS = frozenset(["test", "tests", "testing", "spec", "specs", "__tests__", "testdata"])
_TEST_NAME = re.compile(
    r"(?:^|/)(?:test_[^/]*|conftest\.py|[^/]*(?:_test|_tests|_spec|\.test|\.spec)\.[^/.]+"
    r"|[^/]*Tests?\.(?:java|kt|cs|scala|php|swift))$"
)
_PROSE_ENDINGS = """
md markdown rst txt adoc asciidoc org tex json jsonl yaml yml toml ini cfg conf csv tsv xml svg po
pot lock log html htm css scss less ipynb properties editorconfig
"""
_PROSE = frozenset(_PROSE_ENDINGS.split())
_ASKS_FOR_TESTS = re.compile(r"\b(?:tests?|specs?|testing|testcase|fixture)\b", re.IGNORECASE)
_ASKS_FOR_PROSE = re.compile(
    r"\b(?:docs?|documentation|readme|changelog|docstrings?|tutorial|config(?:uration)?|ya?ml|json"
    r"|toml|css|html|markdown|translations?)\b",
    re.IGNORECASE,
)


def is_test(path: str) -> bool:
    """Tell whether a file is a test or belongs to tests."""
    folders = path.split("/")[:-1]
    return any(one in _TEST_FOLDERS for one in folders) or _TEST_NAME.search(path) is not None


def is_prose(path: str) -> bool:
    """Tell whether a file is prose or data rather than a program."""
    name = path.rpartition("/")[2]
    ending = name.rpartition(".")[2].lower() if "." in name[1:] else ""
    return ending in _PROSE or (not ending and name.isupper())


def asks_for_tests(title: str) -> bool:
    """Tell whether a task speaks of tests."""
    return _ASKS_FOR_TESTS.search(title) is not None


def asks_for_prose(title: str) -> bool:
    """Tell whether a task speaks of documentation, configuration or data."""
    return _ASKS_FOR_PROSE.search(title) is not None
