"""The documents tell all there is, and nothing that is not there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import runtimes
from ctxmode import exit_codes
from ctxmode.cli import VERBS
from ctxmode.mcp.tools import TOOLS
from executor.model import Limits, Status
from executor.profile import PROFILES

DOCUMENTS = ("README.md", "ARCHITECTURE.md", "SECURITY.md", "CHANGELOG.md")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
CODE_SPAN = re.compile(r"`([^`\n]+)`")


@pytest.fixture
def readme(root: Path) -> str:
    return (root / "README.md").read_text()


@pytest.mark.parametrize("row", runtimes.LANGUAGES, ids=lambda row: row.name)
def test_every_language_has_its_line(readme, row):
    assert re.search(rf"^\| {re.escape(row.title)} \| `{row.name}`", readme, re.MULTILINE)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_is_told(readme, verb):
    assert f"`context-mode {verb}" in readme


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_tool_is_told(readme, tool):
    assert f"`{tool.name}`" in readme


@pytest.mark.parametrize("code", exit_codes.MEANINGS)
def test_every_exit_code_is_told_in_the_words_of_the_program(readme, code):
    assert f"| {code} | {exit_codes.MEANINGS[code]} |" in readme


@pytest.mark.parametrize(
    "word", [*(status.value for status in Status), *Limits.__slots__, *PROFILES], ids=str
)
def test_every_status_limit_and_profile_is_told(readme, word):
    assert f"`{word}`" in readme


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_link_leads_somewhere(root: Path, name):
    targets = [t for t in LINK.findall((root / name).read_text()) if "://" not in t]
    assert [t for t in targets if not (root / t).exists()] == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_path_that_is_named_exists(root: Path, name):
    """A code span that starts with a folder or file of the checkout is a path in it."""
    tops = {e.name for e in root.iterdir() if not e.name.startswith(".")} | {".ci"}
    spans = CODE_SPAN.findall((root / name).read_text())
    paths = [s.rstrip("/") for s in spans if re.fullmatch(r"[\w./-]+", s) and "/" in s]
    own = [path for path in paths if path.split("/")[0] in tops]
    assert [path for path in own if not (root / path).exists()] == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_verb_that_is_named_exists(root: Path, name):
    text = (root / name).read_text()
    named = re.findall(r"(?:^|[`\s/])context-mode ([a-z]+)", text)
    assert set(named) <= {*VERBS, "help", "for", "as", "is"}
