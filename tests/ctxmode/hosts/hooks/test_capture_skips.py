"""Hooks of a turn: where none is captured they end at once, and where one is they do not."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ctxmode.config import file_names
from ctxmode.config.file_names import name_capture_mark
from ctxmode.hosts.hooks import capture_skips
from ctxmode.hosts.hooks.capture_skips import FOLDER_ENDINGS, has_nothing_to_do, list_silent
from ctxmode.hosts.hooks.hook_types import PASS
from ctxmode.hosts.registry import HOSTS, find_adapter
from memory.pages import model

STOP = ["claude-code", "Stop"]


class Place:
    """A project with a folder in it, a worktree of it, and what its hooks are given."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.project = root / "project"
        self.folder = self.project / "a" / "b"
        self.worktree = root / "worktree"
        (root / "home").mkdir()
        kept = {name: value for name, value in os.environ.items() if not name.endswith("_DIR")}
        self.environ = {**kept, "HOME": str(root / "home"), "CONTEXT_MODE_DIR": str(root / "data")}
        self.folder.mkdir(parents=True)
        for one in (self.project, self.worktree):  # pages were begun in both
            mark = Path(name_capture_mark(str(one), self.environ["CONTEXT_MODE_DIR"]))
            mark.parent.mkdir(parents=True, exist_ok=True)
            mark.touch()

    def add_worktree(self) -> None:
        identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
        for words in (
            ["init", "-q"],
            [*identity, "commit", "-q", "--allow-empty", "-m", "first"],
            ["worktree", "add", "-q", str(self.worktree)],
        ):
            subprocess.run(["git", "-C", self.project, *words], env=self.environ, check=True)

    def ring(self, cwd: Path, **variables: str) -> None:
        told = {"session_id": "s", "cwd": str(cwd), "last_assistant_message": "Since."}
        done = subprocess.run(
            [sys.executable, "-m", "ctxmode", "hook", *STOP],
            input=json.dumps(told).encode(), env={**self.environ, **variables},
            capture_output=True, check=True, timeout=60,
        )  # fmt: skip
        assert (done.stdout, done.stderr) == (b"", b"")

    def list_captured(self) -> list[str]:
        """List the folders of drafts that have a turn."""
        found = self.root.glob("**/.contexo/raw/sessions/_pending/s.jsonl")
        return sorted(str(path.parents[4].relative_to(self.root)) for path in found)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path.resolve())


def test_the_table_has_the_events_that_adapters_have_for_turns_alone():
    expected, folders = dict[str, tuple[str, ...]](), set[str]()
    for host in HOSTS:
        spoken = find_adapter(host)
        folders.update(spoken.FOLDER_VARIABLES)
        silent = tuple(
            name.lower()
            for name, purpose in spoken.EVENTS.items()
            if purpose in ("asked", "answered") and spoken.answer_ruling(PASS, name) is None
        )
        if silent:
            expected[host] = silent
    found = {host: tuple(list_silent(host)) for host in HOSTS}
    assert expected == {host: events for host, events in found.items() if events}
    assert all(name.endswith(FOLDER_ENDINGS) for name in folders)


def test_hooks_and_pages_look_for_the_same_folder_of_drafts():
    assert capture_skips.DRAFTS == file_names.DRAFTS_FOLDER == model.DRAFTS_FOLDER


@pytest.mark.parametrize(("at", "drafts", "captured"), [
    ("folder", ["project"], ["project"]),
    ("worktree", ["project", "worktree"], ["worktree"]),
    ("worktree", ["project"], []),
    ("project", ["worktree"], []),
], ids=str)  # fmt: skip
def test_c5_a_turn_goes_to_the_project_that_its_folder_is_in(place, at, drafts, captured):
    place.add_worktree()
    for one in drafts:
        (place.root / one / ".contexo").mkdir()
    place.ring(getattr(place, at))
    assert place.list_captured() == captured


def test_c5_the_project_that_a_host_names_gets_the_turns_of_its_worktrees(place):
    place.add_worktree()
    (place.project / ".contexo").mkdir()
    place.ring(place.worktree, CLAUDE_PROJECT_DIR=str(place.project))
    assert place.list_captured() == ["project"]


def test_a_hook_with_nothing_to_capture_loads_nothing(place):
    code = (
        "import sys, os\n"
        "before = set(sys.modules)\n"
        "end = os._exit\n"
        "tell = lambda: print(sorted(set(sys.modules) - before), flush=True)\n"
        "os._exit = lambda code: (tell(), end(code))\n"
        "sys.argv[1:] = ['hook', 'claude-code', 'Stop']\n"
        "from ctxmode.cli import main; main()"
    )
    (place.project / ".git").mkdir()
    loaded = {}
    for is_captured in (False, True):
        if is_captured:
            (place.project / ".contexo").mkdir()
        event = json.dumps({"session_id": "s", "cwd": str(place.folder)}).encode()
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{code}"],
            input=event, capture_output=True, check=True, timeout=60, env=place.environ,
        )  # fmt: skip
        loaded[is_captured] = done.stdout.decode()
    assert loaded[False].strip() == str(
        ["__future__", "ctxmode", "ctxmode.cli", "ctxmode.hosts", "ctxmode.hosts.claude_code",
         "ctxmode.hosts.hooks", "ctxmode.hosts.hooks.capture_skips"]
    )  # fmt: skip
    assert "json" in loaded[True]


@pytest.mark.parametrize(("text", "is_nothing"), [
    ('{"cwd": "FREE"}', True),
    ('{"prompt":"\\"cwd\\": \\"DRAFTS\\"","cwd":"FREE"}', True),
    ("", True),
    ("no JSON", True),
    ('{"cwd" :\n"FREE"}', True),
    ('{"cwd":"DRAFTS"}', False),
    ('{"cwd" :\n"DRAFTS/below"}', False),
    ('{"cwd":"LINK"}', False),
    ('{"tool_info":{"cwd":"FREE"},"cwd":"DRAFTS"}', False),
    ('{"cwd":"\\/elsewhere"}', False),
    ('{"cwd":"a"}', False),
    ('{"cwd":3}', False),
    ('{"cwd":"FREE', False),
    ('{"cwd":"FREE\0"}', False),
    ('{"workspace_roots":["DRAFTS"],"cwd":"FREE"}', False),
    ('{"workspaceRoots":["DRAFTS"]}', False),
    ('{"workspaceRoots": [ "FREE", "DRAFTS"]}', True),  # the first is the project's
    ('{"workspaceRoots":[]}', False),
], ids=str)  # fmt: skip
def test_an_event_is_let_go_only_where_its_folder_is_plain(place, monkeypatch, text, is_nothing):
    drafts = place.root / "drafts"
    (drafts / ".contexo").mkdir(parents=True)
    (place.root / "link").symlink_to(drafts)
    for mark, path in (("FREE", place.folder), ("DRAFTS", drafts), ("LINK", place.root / "link")):
        text = text.replace(mark, str(path))
    _give(monkeypatch, text.encode(), place.folder)
    assert has_nothing_to_do(STOP) is is_nothing
    assert sys.stdin.buffer.read() == text.encode()  # for who answers it then


@pytest.mark.parametrize(("name", "is_nothing"), [
    ("CLAUDE_PROJECT_DIR", False), ("GEMINI_CWD", False), ("OTHER", True),
])  # fmt: skip
def test_a_folder_that_a_host_names_counts(place, monkeypatch, name, is_nothing):
    drafts = place.root / "drafts"
    (drafts / ".contexo").mkdir(parents=True)
    _give(monkeypatch, b"{}", place.folder)
    monkeypatch.setenv(name, str(drafts))
    assert has_nothing_to_do(STOP) is is_nothing
    monkeypatch.setenv("CONTEXO_CAPTURE_DISABLE", "1")
    assert has_nothing_to_do(STOP)


@pytest.mark.parametrize("arguments", [
    ["claude-code", "PreToolUse"], ["claude-code", "SessionStart"], ["claude-code"], [],
    ["cursor", "stop"], ["elsewhere", "Stop"], ["claude-code", "Stop", "--help"],
], ids=str)  # fmt: skip
def test_what_is_no_hook_of_a_turn_is_not_read(place, monkeypatch, arguments):
    _give(monkeypatch, b"{}", place.folder)
    assert not has_nothing_to_do(arguments)
    assert sys.stdin.buffer.tell() == 0


def test_a_closed_stdin_is_left_to_who_can_tell(monkeypatch):
    monkeypatch.setattr(capture_skips.sys, "stdin", None)
    assert not has_nothing_to_do(STOP)


def _give(monkeypatch: pytest.MonkeyPatch, text: bytes, cwd: Path) -> None:
    for name in [name for name in os.environ if name.endswith(FOLDER_ENDINGS)]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(cwd)
    monkeypatch.setattr(capture_skips.sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
