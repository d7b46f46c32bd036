"""Processes that commit at once, some of them killed: the history stays linear, nothing is lost."""

from __future__ import annotations

import signal
import subprocess
import sys

from memory.pages.repository import Repository

WRITERS, COMMITS = 4, 4
WRITE = """
import sys
from pathlib import Path
from memory.pages.model import MovedError
from memory.pages.repository import Repository

repository = Repository(Path(sys.argv[1]), environ={})
number = 0
while number < int(sys.argv[3]):
    try:
        with repository.lock():
            repository.commit(
                {f"{sys.argv[2]}-{number}.md": "x", f"{sys.argv[2]}-{number}-too.md": "y"},
                parent=repository.head(), author="Ada", message="m", trailers={},
            )
    except MovedError:  # the git of a killed writer was still at work
        continue
    print(number, flush=True)
    number += 1
"""


def start(folder, writer, commits):
    command = [sys.executable, "-c", WRITE, str(folder), str(writer), str(commits)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_writers_at_once_lose_nothing_and_a_killed_one_leaves_no_half(tmp_path):
    repository = Repository(tmp_path / "p.git", environ={})
    repository.init()
    writers = [start(repository.folder, writer, COMMITS) for writer in range(WRITERS)]
    doomed = start(repository.folder, "doomed", 1000)
    with doomed, doomed.stdout:
        acknowledged = [doomed.stdout.readline().strip() for _ in range(2)]
        doomed.send_signal(signal.SIGKILL)
        acknowledged += doomed.stdout.read().split()
    for one in writers:
        assert one.communicate()[0].split() == [str(number) for number in range(COMMITS)]
    paths = set(repository.list_paths())
    expected = [(writer, number) for writer in range(WRITERS) for number in range(COMMITS)]
    expected += [("doomed", number) for number in acknowledged]
    for writer, number in expected:
        assert {f"{writer}-{number}.md", f"{writer}-{number}-too.md"} <= paths
    assert len(paths) % 2 == 0
    assert all(f"{path[:-3]}-too.md" in paths for path in paths if not path.endswith("-too.md"))
    assert len(repository.history("", 9999)) == len(paths) // 2
    assert repository.git.run("rev-list", "--merges", "main") == b""
    repository.git.run("fsck", "--strict", "--no-dangling")
