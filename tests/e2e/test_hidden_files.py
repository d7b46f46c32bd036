"""The server shows nothing of a project's file that it hides from programs, wherever it opens one.

Each row is one reader: the text of the file, with a mark in it, and a function that returns what
the reader shows. The file lies under the names of secrets, under one that a rule denies to read,
and, as the control, under an ordinary one.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

import policy
from ctxmode.config.files import PROJECT_FILE
from ctxmode.config.locations import Config, load_config
from ctxmode.config.settings import load_settings
from ctxmode.errors import ContextModeError, UsageError
from ctxmode.hosts.setup import target
from ctxmode.operations.facts import open_memory
from ctxmode.operations.indexing import IndexRequest, index
from ctxmode.operations.packs import PackAsked, make_pack
from ctxmode.operations.pages import begin, open_pages, translate_page_errors
from ctxmode.operations.tasks import find_decisions_file, find_task, read_contextos, read_decisions
from ctxmode.pipelines.model import load
from executor import RequestError
from executor.model import Limits, Request
from executor.packages.package_request import read_wanted
from executor.project.view.search import ProjectSearch
from executor.request import PROFILES, check
from kb import Store
from kb.ignoring import Ignores
from memory.facts.model import Author
from policy import RuleFileError, Subject, find_hidden_paths, judge, load_rules
from runtimes.places import resolve

MARK = "zebrafinch"
CONTROL, DENIED, LINKED = "plain.txt", "denied.txt", "linked.txt"
SECRETS = (".env", "id_rsa", ".envs/local")
ERRORS = (RequestError, UsageError, ContextModeError, RuleFileError)
RULES = {"permissions": {"deny": [f"Read({DENIED})", "Read(.contexo/**/denied.md)", "Bash(rm *)"]}}


class Place(NamedTuple):
    """A project, and the name of the file with the mark in it."""

    config: Config
    name: str

    @property
    def project(self) -> Path:
        return self.config.project

    @property
    def rules(self) -> policy.Rules:
        return load_rules(self.project, home=self.config.home)

    @property
    def search(self) -> ProjectSearch:
        found = ProjectSearch(self.project)
        found.deny(find_hidden_paths(self.rules, [str(self.project)]))
        return found

    def write(self, path: str, text: str) -> Path:
        file = self.project / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def link(self, path: str) -> Path:
        """Make a link in the project that leads to the file."""
        link = self.project / path
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(self.project / self.name)
        return link

    def put(self, path: str) -> Path:
        """Make a link to the file, or, for the control of what follows no link, a copy of it."""
        if self.name != CONTROL:
            return self.link(path)
        return self.write(path, (self.project / self.name).read_text())


def include(line: str) -> Callable[[Place], str]:
    def read(at: Place) -> str:
        at.write("requirements.txt", f"six\n{line.format(at.name)}\n")
        return f"{read_wanted(['requirements.txt'], 'python', str(at.project), at.search)}"

    return read


def list_of(language: str, path: str) -> Callable[[Place], str]:
    def read(at: Place) -> str:
        at.link(path)
        return f"{read_wanted([path], language, str(at.project), at.search)}"

    return read


def script(at: Place) -> str:
    return check(Request("shell", path=at.name), at.search, PROFILES).text


def settings(at: Place) -> str:
    at.link(str(PROJECT_FILE))
    return f"{load_settings(at.project, at.config.config_home)}"


def rule_file(path: str) -> Callable[[Place], str]:
    def read(at: Place) -> str:
        at.link(path)
        return f"{at.rules.warnings}"

    return read


def pipeline(at: Place) -> str:
    return f"{load(at.project / at.name, at.project, Limits())}"


def verdict(command: str, path: str = "") -> Callable[[Place], str]:
    def read(at: Place) -> str:
        if path:
            at.link(path)
        place = (str(at.project), str(at.project), str(at.config.home))
        said = judge(Subject("shell", command.format(at.name), *place), at.rules)
        return f"{said}"

    return read


def host_settings(at: Place) -> str:
    return f"{target.read_host_file(at.link('.mcp.json'), at.project)}"


def pack(at: Place) -> str:
    return make_pack(at.config, PackAsked(budget=100_000)).pack.text


def task(at: Place) -> str:
    at.link(".contextos/CURRENT_TASK.md")
    return find_task(at.config, "", read_contextos(at.config))[0]


def decisions(at: Place) -> str:
    at.link(".contextos/DECISIONS.md")
    path = find_decisions_file(at.project)
    assert path is not None
    with open_memory(at.config, Author("user"), to_write="project") as memory:
        read_decisions(at.config, memory, path, "main")
        return f"{memory.list()}"


def indexed(path: str) -> Callable[[Place], str]:
    def read(at: Place) -> str:
        with Store.open(at.config.home / "kb.sqlite3") as store:
            index(store, at.config, at.rules, IndexRequest(path=path.format(at.name)))
            return "".join(hit.text for hit in store.search(MARK)[0].hits)

    return read


def ignore_file(at: Place) -> str:
    at.put(".gitignore")
    return f"{Ignores().within(at.project)}"


def pinned_version(at: Place) -> str:
    at.put(".python-version")
    shim = at.config.home / ".pyenv/shims/python3"
    (at.config.home / ".pyenv/versions").mkdir(parents=True)
    shim.parent.mkdir()
    shim.touch(0o755)
    return resolve(shim, at.project, at.config.home, {})[2]


LINE, KEY = f"{MARK}\n", f"{MARK} = 1\n"
READERS: dict[str, tuple[str, Callable[[Place], str]]] = {
    "a list's -r": (LINE, include("-r {}")),
    "a list's --requirement": (LINE, include("--requirement=./x/../{}")),
    "a list": (LINE, list_of("python", "requirements.txt")),
    "a lock": (f'{{"{MARK}": 1}}', list_of("javascript", "package-lock.json")),
    "a script": (f"echo {MARK}", script),
    "settings": (KEY, settings),
    "rules": (KEY, rule_file(".ctxmode/policy.toml")),
    "a host's rules": (
        f'{{"permissions": {{"deny": ["Ba({MARK})"]}}}}',
        rule_file(".claude/settings.json"),
    ),
    "a pipeline": (KEY, pipeline),
    "a script that is judged": (f"rm {MARK}", verdict("sh {}")),
    "a Makefile": (f"x:\n\trm {MARK}\n", verdict("make x", "Makefile")),
    "a justfile": (f"x:\n  rm {MARK}\n", verdict("just x", "justfile")),
    "package.json": (f'{{"scripts": {{"x": "rm {MARK}"}}}}', verdict("npm run x", "package.json")),
    "a host's settings": (f'{{"{MARK}": 1}}', host_settings),
    "a pack": (f"{MARK}\n", pack),
    "the task": (LINE, task),
    "decisions": (f"# Decisions\n\n## One\n\n{MARK} flies.\n", decisions),
    "a file that is indexed": (LINE, indexed("{}")),
    "a folder that is indexed": (LINE, indexed(".")),
    "an ignore file": (LINE, ignore_file),
    "a pinned version": (LINE, pinned_version),
}
# They are read before any rule is known, or are what says what the rules are.
BEFORE_RULES = {"settings", "rules", "a host's rules", "a pipeline", "a host's settings"}


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    for name in ("CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    home = tmp_path / "home"
    (home / ".claude").mkdir(parents=True)
    (home / ".claude/settings.json").write_text(json.dumps(RULES))
    project = home / "project"
    (project / ".git").mkdir(parents=True)
    environ = {"HOME": str(home), "CONTEXT_MODE_DIR": str(tmp_path / "data")}
    environ["CONTEXT_MODE_INSTANCE_SHARED"] = "off"
    return load_config(str(project), environ=environ)


def show(reader: str, config: Config, name: str) -> str:
    """Return all that a reader shows of a file, its refusal included."""
    text, read = READERS[reader]
    at = Place(config, name)
    at.write(name, text)
    if name == LINKED:
        (config.project / ".env").symlink_to(LINKED)
    try:
        return read(at)
    except ERRORS as error:
        return f"{error} {getattr(error, 'hint', '')}"


@pytest.mark.parametrize("reader", READERS)
def test_the_control_an_ordinary_file_is_shown(reader: str, config: Config) -> None:
    assert MARK in show(reader, config, CONTROL)


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize("reader", READERS)
def test_no_reader_shows_a_file_with_the_name_of_a_secret(
    reader: str, name: str, config: Config
) -> None:
    assert MARK not in show(reader, config, name)


@pytest.mark.parametrize("reader", sorted(READERS.keys() - BEFORE_RULES))
def test_no_reader_shows_a_file_that_a_rule_denies_to_read(reader: str, config: Config) -> None:
    assert MARK not in show(reader, config, DENIED)


@pytest.mark.parametrize("reader", ["a list's -r", "a list", "a lock", "a script"])
def test_what_a_secrets_link_leads_to_is_read_for_no_run(reader: str, config: Config) -> None:
    assert MARK not in show(reader, config, LINKED)


@pytest.mark.parametrize(("slug", "is_shown"), [("plain", True), ("denied", False)])
def test_a_draft_that_a_rule_denies_to_read_is_not_shown(
    slug: str, is_shown: bool, config: Config
) -> None:
    with open_pages(config, author="Ada <ada@example.com>") as pages:
        begin(config, pages)
        draft = pages.drafts.folder / f"wiki/concepts/{slug}.md"
        draft.write_text(f"---\ntitle: x\ntype: concept\nslug: {slug}\n---\n{MARK}\n")
        try:
            with translate_page_errors():
                shown = pages.read(slug).text
        except UsageError as error:
            shown = str(error)
    assert (MARK in shown) is is_shown
