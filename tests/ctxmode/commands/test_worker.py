"""The verb `worker`: what is wrong with its command line, and orders done by one or by itself."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ctxmode import cli, exit_codes
from ctxmode.commands import worker as verb
from tests.fleet.orders import OTHER_KEY, TestFront, result_in, sealed, write_keys

STARTED_S_MAX = 120
COMMAND = (sys.executable, "-m", "ctxmode", "worker")


@pytest.fixture(autouse=True)
def _nothing_of_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEXT_MODE_DIR", str(tmp_path / "data"))
    monkeypatch.setattr(verb, "OF_MACHINE", tmp_path / "etc")


@pytest.fixture
def front(tmp_path: Path) -> TestFront:
    project = tmp_path / "front"
    project.mkdir()
    (project / "a").write_text("one\n")
    return TestFront(project)


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    return write_keys(tmp_path / "fronts.toml")


def lay_out(front: TestFront, order: bytes, where: Path) -> Path:
    """The folder of an order, as a server lays it out."""
    where.mkdir()
    (where / "order").write_bytes(order)
    shutil.copytree(front.project, where / "project", symlinks=True)
    return where


WRONG = {
    "no order": (["--once", "absent"], "there is no such file"),
    "a folder as order": (["--once", "."], "there is no such file"),
    "none at once": (["--at-once", "0"], "--at-once 0"),
    "too many at once": (["--at-once", "2000"], "from 1 to 1,024"),
    "no number": (["--at-once", "x"], "--at-once"),
    "at once and once": (["--once", "order", "--at-once", "2"], "Leave out one"),
    "cluster and once": (["--once", "order", "--cluster", "grpcs://x"], "not allowed"),
    "no list of keys": (["--keys", "absent"], "No such file"),
    "keys that others write": (["--keys", "open.toml"], "chmod go-w"),
    "a list that is none": (["--keys", "none.toml"], "[fronts.NAME]"),
    "no default list": ([], "no front is served"),
    "no rules": (["--keys", "fronts.toml", "--rules", "absent"], "there is no such file"),
    "an empty name": (["--keys", "fronts.toml", "--name", ""], "printable"),
    "a name of two lines": (["--keys", "fronts.toml", "--name", "a\nb"], "printable"),
    "a folder in a file": (["--keys", "fronts.toml", "--folder", "order/x"], "--folder"),
    "a strange engine": (["--keys", "fronts.toml", "--cluster", "ftp://x"], "ftp"),
    "an engine without certificates": (["--keys", "fronts.toml", "--cluster", "grpcs://x"], "cert"),
    "a plain engine elsewhere": (["--keys", "fronts.toml", "--cluster", "grpc://x"], "grpcs://x"),
}


@pytest.mark.parametrize("case", WRONG)
@pytest.mark.usefixtures("keys")
def test_what_is_wrong_is_told_before_anything_is_opened(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "order").write_bytes(b"x")
    write_keys(tmp_path / "open.toml").chmod(0o622)
    (tmp_path / "none.toml").write_text("x = 1")
    (tmp_path / "none.toml").chmod(0o600)
    line, told = WRONG[case]
    assert cli.main(["worker", *line]) == exit_codes.USAGE
    assert told in capfd.readouterr().err


@pytest.fixture
def running(tmp_path: Path, keys: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A worker that waits at its socket."""
    options = ("--keys", str(keys), "--folder", str(tmp_path / "worker"), "--at-once", "1")
    with subprocess.Popen([*COMMAND, *options], stderr=subprocess.PIPE) as started:
        assert started.stderr is not None
        assert b"is ready at" in started.stderr.readline()
        yield started
        if started.poll() is None:
            started.send_signal(signal.SIGTERM)
            started.wait(STARTED_S_MAX)


def once(root: Path, *options: str) -> subprocess.CompletedProcess[bytes]:
    """Do the order in a folder, as a server starts it there."""
    return subprocess.run(
        [*COMMAND, "--once", "order", *options],
        cwd=root,
        capture_output=True,
        timeout=STARTED_S_MAX,
        check=False,
    )


def test_a_worker_by_itself_does_one_order(front: TestFront, keys: Path, tmp_path: Path):
    options = ("--keys", str(keys), "--folder", str(tmp_path / "worker"))
    root = lay_out(front, front.seal("cat a; exit 3"), tmp_path / "root")
    done = once(root, *options)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    result = result_in(root)
    assert (result["stdout"]["head"], result["exit_code"]) == ("one\n", 3)
    unknown = lay_out(front, sealed(front.order("echo"), OTHER_KEY), tmp_path / "unknown")
    done = once(unknown, *options)
    assert done.returncode == exit_codes.ERROR
    assert done.stderr.startswith(b"context-mode: the order was not done: unknown_key: no front")
    assert sorted(path.name for path in unknown.iterdir()) == ["order", "project"]


@pytest.mark.usefixtures("running")
def test_a_worker_that_runs_does_the_orders_of_commands(front: TestFront, tmp_path: Path):
    folder = ("--folder", str(tmp_path / "worker"))
    for number in range(2):  # the client needs no keys: it looks into nothing
        root = lay_out(front, front.seal("cat a"), tmp_path / f"root{number}")
        done = once(root, *folder)
        assert (done.returncode, done.stderr) == (0, b"")
        assert result_in(root)["stdout"]["head"] == "one\n"
    harmed = front.seal("cat a").replace(b"cat a", b"cat b")
    done = once(lay_out(front, harmed, tmp_path / "harmed"), *folder)
    assert (done.returncode, done.stderr.count(b"\n")) == (exit_codes.ERROR, 1)
    assert b"changed: the order is not as office has sealed it" in done.stderr


def test_a_worker_told_to_end_ends_what_is_under_way(
    running: subprocess.Popen[bytes], front: TestFront, tmp_path: Path
):
    begun = "while [ ! -e go ]; do sleep 0.01; done"  # never, but for its limit
    slow = front.seal(begun, request={"timeout_s": 2.0})
    root = lay_out(front, slow, tmp_path / "root")
    folder = ("--folder", str(tmp_path / "worker"))
    with subprocess.Popen([*COMMAND, "--once", "order", *folder], cwd=root) as client:
        while not list(root.glob(".handed-*")):
            assert client.poll() is None
        running.send_signal(signal.SIGTERM)
        assert client.wait(STARTED_S_MAX) == 0
    assert result_in(root)["status"] == "timed_out"
    assert running.wait(STARTED_S_MAX) == 0
    assert not (tmp_path / "worker" / "worker.sock").exists()
    assert os.listdir(tmp_path / "worker" / "state" / "instances") == ["registry.lock"]


@pytest.mark.usefixtures("running")
def test_a_worker_is_one_of_its_folder(keys: Path, tmp_path: Path):
    options = ("--keys", str(keys), "--folder", str(tmp_path / "worker"), "--at-once", "1")
    done = subprocess.run(
        [*COMMAND, *options], capture_output=True, timeout=STARTED_S_MAX, check=False
    )
    assert done.returncode == exit_codes.USAGE
    assert b"another worker listens" in done.stderr
