"""What is added touches at most four files beside its tests, and ARCHITECTURE.md names them all.

Each addition is made up, and put into a copy of the tree. What is generated is written anew there,
and the tests that hold rows and documents together run on the copy: a place that is missing fails.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES_MAX = 4
S_MAX = 240


@dataclass(frozen=True, slots=True)
class Addition:
    """A made-up row: what it puts where, and what holds it to the rest of the tree.

    `files` are new; `edits` have a text of a file, and what is put before it.
    """

    files: dict[str, str]
    edits: dict[str, tuple[str, str]]
    check: str
    held_by: str
    generators: tuple[str, ...] = ()


IMP_ROW = """[ctx_imp]
hints = "reads"
deadline = 30
description = "WHEN: now.\\nWHEN NOT: later.\\nRETURNS: nothing.\\nEXAMPLE: {}"

"""

ADDITIONS = {
    "language": Addition(
        {
            "runtimes/languages/imp/row.py": '"""Imp, a Lua."""\n\n'
            "from dataclasses import replace\n\n"
            "from runtimes.languages.lua.row import ROW as LUA\n\n"
            'ROW = replace(LUA, name="imp", title="Imp", aliases=(), extensions=(".imp",), '
            'interpreters=("imp",), source_name="main.imp", order=100)\n',
            "runtimes/languages/imp/install.toml": 'image = "scripting"\n'
            'debian = ["lua5.4"]\nfedora = ["lua"]\narch = ["lua"]\nbrew = ["lua"]\n'
            'windows = ["DEVCOM.Lua"]\n',
            "runtimes/languages/imp/hello.imp": "print('hello from ' .. 'lua')\n",
            "runtimes/languages/imp/trial.digits.imp": "print(0)\n",
        },
        {},
        "import runtimes; assert runtimes.language('imp').title == 'Imp'; "
        "from images.groups import group_for; assert group_for('imp')",
        "tests/structure/test_documents.py tests/images/test_groups.py tests/ctxmode/trial "
        "tests/runtimes/test_registry.py",
        ("docs/language_table.py",),
    ),
    "tool": Addition(
        {
            "ctxmode/mcp/tools/imp.py": (ROOT / "ctxmode/mcp/tools/stats.py")
            .read_text()
            .replace("ctx_stats", "ctx_imp")
        },
        {
            "ctxmode/mcp/tools/rows.toml": ("[ctx_stats]", IMP_ROW),
            "README.md": ("| `ctx_stats` |", "| `ctx_imp` | nothing |\n"),
            "docs/agents.md": ("| `ctx_stats`, `ctx_doctor`", "| `ctx_imp` | none |\n"),
        },
        "from ctxmode.mcp import tools; assert tools.load('ctx_imp').name in tools.NAMES",
        "tests/structure/test_documents.py tests/ctxmode/mcp/test_tools.py",
        ("docs/tool_list.py",),
    ),
    "verb": Addition(
        {
            "ctxmode/commands/imp.py": '"""Imp."""\n\n'
            "from ctxmode.commands.ps import stop_program\n\n"
            'OPERATIONS = {"imp": stop_program}\n',
            "ctxmode/commands/help/ps-imp.txt": "Imp.\n\nexample:\n  context-mode ps imp 1\n",
        },
        {
            "ctxmode/commands/verbs.json": (
                '  "ps stop":',
                '  "ps imp": {"module": "imp", "summary": "nothing", "first": "imp"},\n',
            ),
            "docs/json.md": ("| `ps stop` |", "| `ps imp` | `{id, label}` |\n"),
        },
        "from ctxmode.commands.table import VERBS; assert VERBS['ps imp'].load().OPERATIONS",
        "tests/structure/test_documents.py",
        ("docs/verb_table.py",),
    ),
    "chunker": Addition(
        {"kb/chunkers/imp.py": '"""Imp."""\n\nfrom kb.packing import no_marks as marks\n'},
        {
            "kb/chunkers/__init__.py": (
                '    Chunker("markdown"',
                '    Chunker("imp", imp.marks),\n',
            ),
            "kb/filetypes.json": ('    "cfg": "ini",', '    "imp": "imp",\n'),
        },
        "from kb.chunkers import CHUNKERS; assert CHUNKERS['imp'].marks",
        "tests/structure/test_documents.py tests/kb/test_chunking.py",
        ("docs/verb_table.py",),
    ),
    "host": Addition(
        {
            "ctxmode/hosts/imp/__init__.py": '"""Imp."""\n\n'
            "from ctxmode.hosts.claude_code import EVENTS as EVENTS\n"
            "from ctxmode.hosts.claude_code import FOLDER_VARIABLES as FOLDER_VARIABLES\n\n"
            'LIKE = "claude_code"\n',
            "ctxmode/hosts/imp/transcript.py": '"""Imp."""\n\n'
            "from ctxmode.hosts.qwen_code.transcript import IMPORTER as QWEN\n\n"
            'IMPORTER = QWEN._replace(agent="imp", title="Imp")\n',
            "ctxmode/hosts/imp/row.toml": 'title = "Imp"\nsource = "nowhere"\n'
            'servers = {user = "~/.imp/mcp.json", project = ".imp/mcp.json"}\n'
            '[hooks]\nentry = {matcher = "TOOLS", command = "LINE"}\n'
            'places = {user = "~/.imp/hooks.json", project = ".imp/hooks.json"}\n',
        },
        {},
        "from ctxmode.hosts.registry import find_adapter, find_importer; "
        "assert find_adapter('imp').EVENTS; assert find_importer('imp').title == 'Imp'; "
        "from ctxmode.hosts.setup.hosts import HOSTS; assert 'imp' in {h.name for h in HOSTS}",
        "tests/structure/test_documents.py tests/ctxmode/hosts/setup/test_plan.py",
        ("docs/verb_table.py", "docs/host_table.py", "docs/config_schema.py"),
    ),
}
# These list what there is, one by one, or add up what it costs: an addition changes them as it
# changes its own tests.
LISTS = (
    "names_that_agents_know",
    "tools_that_only_read",
    "served_by_default_costs",
)
IMPORTS = {
    "kb/chunkers/__init__.py": "from kb.chunkers import imp\n",
}


@pytest.fixture(scope="module")
def listed() -> list[str]:
    listing = ["git", "ls-files", "-co", "--exclude-standard"]
    names = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in names.stdout.splitlines() if (ROOT / name).is_file()]


def python(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=tree,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tree), "PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        timeout=S_MAX,
        check=False,
    )


def run_held_by(tree: Path, addition: Addition) -> subprocess.CompletedProcess[str]:
    """Write what is generated, then run what holds the addition to the rest."""
    for generator in addition.generators:
        done = python(tree, generator)
        assert done.returncode == 0, done.stderr
    tests = addition.held_by.split()
    chosen = ("-m", "unit", "-k", " and ".join(f"not {name}" for name in LISTS))
    return python(tree, "-m", "pytest", "-q", "-p", "no:xdist", *chosen, *tests)


@pytest.mark.parametrize("kind", ADDITIONS)
def test_an_addition_touches_few_files_and_the_page_names_them(kind, listed, tmp_path):
    addition = ADDITIONS[kind]
    for name in listed:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    if not addition.edits:  # without its files it is not there
        assert python(tmp_path, "-c", addition.check).returncode != 0
    for name, text in addition.files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    for number, (name, (before, put)) in enumerate(addition.edits.items()):
        path = tmp_path / name
        assert path.read_text().count(before) == 1, name
        if number == 0:  # without its row it is not there, or what holds it would prove nothing
            assert python(tmp_path, "-c", addition.check).returncode != 0
        text = path.read_text().replace(before, put + before)
        if statement := IMPORTS.get(name):
            text = text.replace("import annotations\n", f"import annotations\n\n{statement}", 1)
        path.write_text(text)
    done = python(tmp_path, "-c", addition.check)
    assert done.returncode == 0, done.stderr
    done = run_held_by(tmp_path, addition)
    assert done.returncode == 0, done.stdout

    touched = [*addition.files, *addition.edits]
    assert len(touched) <= FILES_MAX
    page = (ROOT / "ARCHITECTURE.md").read_text()
    (row,) = re.findall(rf"^\| a {kind} \|.*$", page, re.MULTILINE)
    named = re.findall(r"`([^`]+)`", row.replace("README", "`README.md`"))
    assert [name for name in touched if not any(name.startswith(one) for one in named)] == []
