"""Pushes that are killed at any moment, and many at once: all or nothing, a linear history."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

from memory.pages.model import PushRequest
from tests.memory.pages.test_pushing import draft, make, write

PUSHERS = 8
PUSH = """
import os, signal, sys
from pathlib import Path
from memory.pages import pushing
from memory.pages.model import PushRequest
from memory.pages.repository import Repository
from memory.pages.store import Pages

project, repository, step = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

pages = Pages(project, Repository(repository, environ={}), find_secrets=lambda _: (), author="Ada")
names = {
    "read": (pushing, "compare_drafts"), "check": (pushing, "_check_source"),
    "index": (pushing, "make_index_pages"), "commit": (Repository, "commit"),
    "follow": (pushing, "_follow"), "archive": (pushing, "_with_archived"),
    "tidy": (Repository, "tidy"),
}
if step in names:
    setattr(*names[step], die)
    pages.push(PushRequest((), session="s", distill_done=True, source_slug="src"))
project.mkdir(exist_ok=True)
pages.init()
for number in range(2):
    pages.write(f"p-{step}-{number}", "x", "concept")
    print(pages.push(PushRequest(no_distill=True)).commit, flush=True)
"""


def start(project, repository, step):
    command = [sys.executable, "-c", PUSH, str(project), str(repository), step]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("step", ["read", "check", "index", "commit", "follow", "tidy", "archive"])
def test_c8_a_push_that_is_killed_did_all_or_nothing(tmp_path, step):
    pages = make(tmp_path)
    pages.clock = time.time
    pages.buffers.append("s", user="Why?", assistant="So.")
    write(pages, "a")
    write(pages, "src", "x", "source")
    before = draft(pages, "a").read_text()
    killed = start(pages.project, pages.repository.folder, step)
    killed.communicate()
    assert killed.returncode == -signal.SIGKILL
    paths = pages.repository.list_paths()
    if step in ("follow", "tidy", "archive"):
        assert {"wiki/concepts/a.md", "raw/sessions/src.md", "index.md"} <= set(paths)
    else:
        assert (paths, draft(pages, "a").read_text()) == ([], before)
        assert pages.buffers.read("s") is not None
    again = pages.push(PushRequest(session="s", distill_done=True, source_slug="src"))
    assert again.reason == ("nothing" if paths else "")
    assert len(pages.log()) == 1
    assert pages.buffers.read("s") is None
    assert "src" in draft(pages, "a").read_text()
    write(pages, "a", "edited")
    assert pages.push(PushRequest()).reason == ""


def test_many_pushers_at_once_lose_nothing_and_the_history_is_linear(tmp_path):
    pages = make(tmp_path)
    repository = pages.repository.folder
    pushers = [start(tmp_path / f"n{n}", repository, f"n{n}") for n in range(PUSHERS)]
    commits = {sha for one in pushers for sha in one.communicate()[0].split()}
    assert all(one.returncode == 0 for one in pushers)
    assert len(commits) == 2 * PUSHERS
    assert {commit.sha for commit, _ in pages.log()} == commits
    assert pages.repository.git.run("rev-list", "--merges", "main") == b""
    index = pages.read("index").text
    for n in range(PUSHERS):
        for number in range(2):
            assert f"(wiki/concepts/p-n{n}-{number}.md)" in index
