"""What the package itself promises: a light import, and its table of kinds."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import kb.tokens
from kb.filetypes import KIND_OF_LANGUAGE


def test_importing_loads_no_parser() -> None:
    heavy = {"tree_sitter", "tree_sitter_language_pack", "markdown_it", "pygments", "pathspec"}
    program = f"import sys, kb; print([m for m in sys.modules if m.split('.')[0] in {heavy}])"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_every_kind_that_a_language_means_has_a_chunker() -> None:
    assert set(KIND_OF_LANGUAGE.values()) <= set(kb.CHUNKERS)


@pytest.mark.parametrize(
    ("content", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("日本", 2), (b"\xff", 1)]
)
def test_tokens_are_estimated_from_bytes(content: str | bytes, tokens: int) -> None:
    assert kb.tokens.estimate_tokens(content) == tokens


def test_full_text_search_is_available_here() -> None:
    assert kb.fts5_available()
