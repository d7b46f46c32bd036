"""The documents tell all there is, and nothing that is not there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import runtimes
from ctxmode import exit_codes, parsing
from ctxmode.commands.table import FORMER, VERBS
from ctxmode.config.settings import SETTINGS
from ctxmode.hosts.setup.hosts import HOSTS
from ctxmode.mcp import tools
from ctxmode.mcp.http.serving import Metrics
from docs import language_table, verb_table
from docs.config_schema import PROFILE
from executor.model import Limits, Status
from executor.request import PROFILES
from images import GROUPS

ROOT = Path(__file__).parents[2]
PAGES = tuple(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))
DESIGN = tuple(f"docs/design/{path.name}" for path in sorted((ROOT / "docs/design").glob("*.md")))
DECISIONS = tuple(f"docs/decisions/{p.name}" for p in sorted((ROOT / "docs/decisions").glob("*")))
DOCUMENTS = (
    *("README.md", "ARCHITECTURE.md", "SECURITY.md", "CHANGELOG.md", "CONTRIBUTING.md"),
    *(*PAGES, *DESIGN, *DECISIONS, "changelog.d/README.md"),
)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
ANCHOR = re.compile(r"\]\(([^)#\s]*)#([^)\s]+)\)")
CODE_SPAN = re.compile(r"`([^`\n]+)`")


@pytest.fixture
def readme(root: Path) -> str:
    return (root / "README.md").read_text()


def page(name: str) -> str:
    return (ROOT / "docs" / f"{name}.md").read_text()


@pytest.mark.parametrize("page", language_table.pages(), ids=lambda page: page.name)
def test_the_tables_of_languages_are_written_of_their_rows(page):
    written = language_table.pages()[page]
    assert page.read_text() == written, "run: python docs/language_table.py"


@pytest.mark.parametrize("tool", [*map(tools.load, tools.NAMES)], ids=lambda tool: tool.name)
def test_every_tool_is_told(readme, tool):
    assert f"`{tool.name}`" in readme
    (row,) = re.findall(rf"^\| `{tool.name}`.*\|$|^\|.*, `{tool.name}` \|.*$", page("agents"), re.M)
    assert [name for name in tool.arguments.rows if f"`{name}`" not in row] == []


@pytest.mark.parametrize("code", exit_codes.MEANINGS)
def test_every_exit_code_is_told_in_the_words_of_the_program(code):
    assert f"| {code} | {exit_codes.MEANINGS[code]} |" in page("cli")


@pytest.mark.parametrize(
    "word",
    [
        *(status.value for status in Status),
        *Limits.__slots__,
        *PROFILES,
        *(group.name for group in GROUPS),
    ],
    ids=str,
)
def test_every_status_limit_profile_and_image_is_told(word):
    assert f"`{word}`" in page("profiles") + page("containers")


@pytest.mark.parametrize("key", PROFILE["properties"])
def test_every_key_of_a_profile_is_told(key):
    assert re.search(rf"^{key} = ", page("profiles"), re.MULTILINE)


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.key)
def test_every_setting_is_told_with_what_a_project_may(setting):
    row = f" | {setting.about} | {setting.project_may} |"
    lines = page("configuration").splitlines()
    (line,) = (line for line in lines if line.startswith(f"| `{setting.key}` | "))
    assert line.endswith(row)


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.name)
def test_every_host_is_told(host):
    assert f"`{host.name}`" in page("agents")


def test_every_metric_is_told():
    metrics = Metrics()
    metrics.observe("ctx_stats", "ok", 0.1)
    told = re.findall(r"^(ctxmode_\w+)\{", metrics.text().decode(), re.MULTILINE)
    own = {re.sub(r"_(bucket|count|sum)$", "", one) for one in told if not one.endswith("_created")}
    assert [name for name in own if f"`{name}`" not in page("agents")] == []


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "hook"])
def test_every_json_form_is_told(verb):
    """A verb with --json has a row with its shape."""
    parsers = [parsing.verb_parser(VERBS[verb])]
    parsers += parsing.subparsers(parsers[0]).values()
    has = any("--json" in action.option_strings for each in parsers for action in each._actions)
    row = re.search(rf"^\| `{verb}(`| --| URL)", page("json"), re.MULTILINE)
    assert has == bool(row)


def read_targets(page: Path) -> list[str]:
    """Read the paths that a page links to."""
    return [target for target in LINK.findall(page.read_text()) if "://" not in target]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_link_leads_somewhere(root: Path, name):
    here = (root / name).parent
    assert [t for t in read_targets(root / name) if not (here / t).exists()] == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_anchor_is_a_heading(root: Path, name):
    path = root / name
    wrong = []
    for target, anchor in ANCHOR.findall(path.read_text()):
        if "://" in target:
            continue
        text = (path.parent / target if target else path).read_text()
        headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
        if anchor not in {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings}:
            wrong.append(f"{target}#{anchor}")
    assert wrong == []


def test_every_page_is_reached_from_the_first(root: Path):
    reached: set[Path] = set()
    found = {root / "README.md"}
    while found:
        reached |= found
        links = {(page.parent / t).resolve() for page in found for t in read_targets(page)}
        found = {each for each in links if each.suffix == ".md" and each.exists()} - reached
    assert [name for name in PAGES if root / name not in reached] == []


@pytest.mark.parametrize("name", DESIGN)
def test_every_page_of_the_design_is_reached_from_the_architecture(root: Path, name):
    assert f"]({name})" in (root / "ARCHITECTURE.md").read_text()


def test_every_decision_has_its_number_its_date_and_a_row(root: Path):
    rows = re.findall(
        r"^\| \[(\d{4})\]\((\S+)\) \| (.*?) \| ([\d-]{10}) \| (.*) \|$",
        (root / "docs/decisions/README.md").read_text(),
        re.MULTILINE,
    )
    assert [int(number) for number, *_ in rows] == [*range(1, len(rows) + 1)]
    headings = 0
    for name in DECISIONS:
        headings += (root / name).read_text().count("\n## ")
    assert headings == len(rows)
    for number, name, title, _, _ in rows:
        text = (root / "docs/decisions" / name).read_text()
        section = text.partition(f"\n## {number} {title}\n\n")[2].partition("\n## ")[0]
        assert "- **Context:** " in section
        assert "- **Decision:** " in section


# Tables to look something up in, row by row.
REFERENCES = {"docs/verbs.md", "docs/attack-matrix.md", "docs/claude-rules.md"}


def test_pages_are_short(root: Path):
    lines = {
        str(path.relative_to(root)): len(path.read_text().splitlines())
        for path in (root / "docs").rglob("*.md")
    }
    assert {page for page, count in lines.items() if count > 150} <= REFERENCES
    assert sum(lines.values()) <= 4_000
    rows_of_languages = len(runtimes.LANGUAGES)
    assert len((root / "README.md").read_text().splitlines()) <= 114 + rows_of_languages


def test_the_architecture_is_read_in_ten_minutes(root: Path):
    assert len((root / "ARCHITECTURE.md").read_text().splitlines()) <= 160


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
    former = {words.split()[0] for words in FORMER} if name == "CHANGELOG.md" else set()
    assert set(named) <= {*VERBS, *former, "help", "for", "as", "is"}


def test_the_page_of_verbs_is_as_the_verbs_are():
    written = verb_table.PAGE.read_text()
    assert written == verb_table.page(), "run: python docs/verb_table.py"
    groups = verb_table.GROUPS_PAGE.read_text()
    assert groups == verb_table.groups_page(), "run: python docs/verb_table.py"
    assert verb_table.README.read_text() == verb_table.readme(), "run: python docs/verb_table.py"
