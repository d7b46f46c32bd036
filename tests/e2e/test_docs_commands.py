"""Every command that the documents and `--help` show does what they say."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from ctxmode.commands.table import SECTIONS, VERBS
from ctxmode.parsing import describe_verb
from tests import needs
from tests.e2e import docs_needs, docs_project, docs_recipes
from tests.e2e.docs_blocks import Block, blocks, fits

ROOT = Path(__file__).parents[2]
DEADLINE_S = 300
# One page is a single walk through several machines: see test_fleet_page.py.
PAGES = [
    ROOT / "README.md",
    *(page for page in sorted((ROOT / "docs").glob("*.md")) if page.name != "fleet.md"),
]
BLOCKS = [block for page in PAGES for block in blocks(page)]
NEXT = "\x01next\x01"
HELP_NEEDS = {"ci": ["ruby", "perl", "javascript"], "run": ["ruby", "r"]}
OPTIONAL = ("engine", "sqlite3", "curl")  # nothing here asks for them but a page

# What `--help` shows and is not run here, by how it begins, and why.
NOT_RUN = {
    "context-mode doctor --install-script | sudo sh": "installs packages; .ci/run does it",
    "context-mode index http": "needs the internet; tests/ctxmode fetch from a server of their own",
    "context-mode index --urls": "as index http",
    "context-mode doctor images": "builds, or needs an engine; the tests of images/ do it",
    "context-mode index . --watch": "stays",
    "context-mode doctor insight --open": "stays",
    "context-mode doctor insight --port": "stays",
    "context-mode kept outputs show": "names an output of its reader",
    "context-mode kept diff": "names outputs of its reader",
    "context-mode doctor packages lock": "needs a registry; tests/executor/packages have their own",
    "context-mode doctor packages add": "as packages lock",
    "context-mode kept rm --all": "would leave nothing for what follows; tested with the library",
    "context-mode run -i python --packages": "as packages lock",
    "context-mode serve": "stays",
    "context-mode sessions import": "names a file of its reader; docs/sessions-data.md imports one",
    "context-mode kept show out-7f3k2m": "names an output of its reader",
    "context-mode ps stop": "names a program of its reader",
    "context-mode try": "tests/e2e/test_cli.py does it",
    "context-mode serve worker": "stays, or needs an order; tests/ctxmode/commands/test_worker.py",
}


@dataclass(frozen=True, slots=True)
class Shell:
    """Runs a script in a project of its own."""

    project: Path
    environ: dict[str, str]

    def __call__(self, script: str, *options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", *options, "-c", script],
            cwd=self.project,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )


@pytest.fixture
def shell(tmp_path: Path, probes: Path) -> Shell:
    """A shell where every language has been tried."""
    project, environ = docs_project.make(tmp_path)
    state = Path(environ["HOME"], ".local/share/ctxmode/state")
    state.mkdir(parents=True)
    shutil.copy(probes, state)
    return Shell(project, environ)


@pytest.fixture
def prepare(shell: Shell, probes: Path):
    """Make what a block needs, or skip; return its text, to be run here."""
    shared = probes.parent  # all workers of a test run have it
    with ExitStack() as stack:

        def make(block: Block) -> str:
            if block.page.startswith("recipes"):
                docs_recipes.write(shell.project)
            if block.word == "not run":
                pytest.skip(f"not applicable: {block.said}")
            if block.word != "needs":
                return block.text
            name, *words = block.said.split()
            if name not in docs_needs.NEEDS:
                need(block.said.split())
                return block.text
            place = docs_needs.Place(shell.project, shell.environ, shared)
            said = stack.enter_context(docs_needs.NEEDS[name](place, *words))
            return block.text.replace(*said) if said else block.text

        yield make


def need(programs: list[str]) -> None:
    """Skip a block for which this machine lacks a language or a program."""
    needs.need(*(name for name in programs if name not in OPTIONAL))
    lacking = needs.absent(*("docker" if name == "engine" else name for name in programs))
    if "engine" in programs and not lacking:
        asked = subprocess.run(["docker", "info"], capture_output=True, check=False)
        lacking = "no container engine answers" if asked.returncode else ""
    if lacking:
        pytest.skip(f"not applicable: {lacking}")


@pytest.mark.parametrize("block", [b for b in BLOCKS if b.language == "sh"], ids=lambda b: b.place)
def test_commands_succeed(shell, prepare, block):
    strict = [] if block.word == "exit" else ["-e", "-o", "pipefail"]
    done = shell(prepare(block), *strict)
    assert "a defect of this program" not in done.stdout
    assert "Traceback" not in done.stdout
    assert block.word == "exit" or done.returncode == 0, done.stdout
    assert fits(block.prints, done.stdout), done.stdout


@pytest.mark.parametrize(
    "block", [b for b in BLOCKS if b.language == "console"], ids=lambda b: b.place
)
def test_commands_print_what_is_shown(shell, prepare, block):
    exchanges = replace(block, text=prepare(block)).exchanges
    script = "".join(f"{command}\nprintf '{NEXT}'\n" for command, _ in exchanges)
    printed = shell(script).stdout.split(NEXT)
    wrong = [
        f"$ {command}\n{said}"
        for (command, expected), said in zip(exchanges, printed[:-1], strict=True)
        if not fits(expected, said)
    ]
    assert "\n".join(wrong) == ""


@pytest.mark.parametrize(
    "block", [b for b in BLOCKS if b.language in ("toml", "json")], ids=lambda b: b.place
)
def test_data_can_be_read(block):
    {"toml": tomllib.loads, "json": json.loads}[block.language](block.text)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda b: b.place)
def test_a_block_says_what_it_is(block):
    """Commands must not hide from these tests in a block without a language."""
    assert block.language or "context-mode " not in block.text
    assert block.language in ("", "sh", "console", "toml", "json", "yaml")


def examples(verb: str) -> list[str]:
    """What the verb's help shows below `examples:`, and is run here."""
    if verb == "help":
        return [f"context-mode {example}" for _, example in SECTIONS.values()]
    text = describe_verb(VERBS[verb])
    shown = re.search(r"^examples?:\n((?:  .*\n?)+)", text, re.MULTILINE)
    assert shown is not None, f"{verb} --help shows no example"
    return [line.strip() for line in shown[1].splitlines()]


@pytest.mark.parametrize("verb", ["help", *VERBS])
def test_examples_of_help_work(shell, verb):
    lines = [line for line in examples(verb) if not line.startswith(tuple(NOT_RUN))]
    if not lines:
        pytest.skip("not applicable: see NOT_RUN")
    need(HELP_NEEDS.get(verb, []))
    # Refusals of rules are examples, too.
    allowed = "0|116|117|126" if verb in ("help", "policy") else "0"
    script = "".join(f"{line}\ncase $? in {allowed}) ;; *) exit 9 ;; esac\n" for line in lines)
    prepared = "context-mode index . >/dev/null\n" if verb in ("kept", "kept show") else ""
    done = shell(prepared + script, "-x")
    assert done.returncode == 0, done.stdout
    assert "a defect of this program" not in done.stdout


def test_what_is_not_run_is_shown():
    shown = [line for verb in ("help", *VERBS) for line in examples(verb)]
    assert [begins for begins in NOT_RUN if not any(s.startswith(begins) for s in shown)] == []
