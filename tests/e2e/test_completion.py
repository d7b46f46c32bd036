"""Completion in real shells: what a person gets who presses Tab."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ctxmode.commands.table import VERBS
from ctxmode.completion import harmless
from tests.needs import need

DEADLINE_S = 60.0
CONTROL = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|[\r\x07\x08]")
COMPLETED = [
    ("docto", "doctor "),
    ("run pyth", "run python "),
    ("policy expl", "policy explain "),
    ("run python --isol", "run python --isolation "),
    ("run python --limit memory_b", "run python --limit memory_bytes="),
    ("run shell --profile onl", "run shell --profile online "),
    ("doctor images build script", "doctor images build scripting "),
    ("setup curs", "setup cursor "),
    ("index chapt", "index chapters.md "),
    ("kept show guid", "kept show guide.md "),
    ("doctor config sch", "doctor config schema "),
    ("policy refu", "policy refusals "),
    ("pack ma", "pack map "),
]
STARTS = {
    "bash": ["bash", "--noprofile", "--norc", "-i"],
    "zsh": ["zsh", "-f", "-i"],
}
FIRST = {
    "bash": "PS1='ready> '; source {script}",
    "zsh": "PS1='ready> '; autoload -Uz compinit; compinit -u; eval \"$(<{script})\"",
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A project with something kept, a profile of the user's, and the command on PATH."""
    project, folder = tmp_path / "project", tmp_path / "bin"
    for each in (project / ".git", folder, tmp_path / "config" / "ctxmode"):
        each.mkdir(parents=True)
    (tmp_path / "config/ctxmode/config.toml").write_text("[profiles.online]\nbase = 'analyze'\n")
    (project / "chapters.md").write_text("# One\n\nText.\n")
    command = folder / "context-mode"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m ctxmode "$@"\n')
    command.chmod(0o755)
    told(place_environment(tmp_path), project, "index", "chapters.md", "--source", "guide.md")
    return tmp_path


def place_environment(place: Path) -> dict[str, str]:
    return {
        **os.environ,
        "PATH": f"{place / 'bin'}:{os.environ['PATH']}",
        "HOME": str(place),
        "XDG_CONFIG_HOME": str(place / "config"),
        "CONTEXT_MODE_DIR": str(place / "data"),
        "CONTEXT_MODE_INSTANCE_SHARED": "off",
        "PYTHONPATH": os.pathsep.join(sys.path),
        "TERM": "xterm",
    }


def told(environ: dict[str, str], folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ["context-mode", *arguments],
        env=environ,
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def written(place: Path, shell: str) -> Path:
    script = place / f"completion.{shell}"
    script.write_text(
        told(place_environment(place), place / "project", "doctor", "completion", shell)
    )
    return script


@pytest.mark.parametrize("shell", STARTS)
def test_tab_completes(place, shell):
    need(shell)
    script = written(place, shell)
    pid, terminal = pty.fork()
    if not pid:  # the shell
        os.chdir(place / "project")
        os.execvpe(STARTS[shell][0], STARTS[shell], place_environment(place))
    try:
        os.write(terminal, f"{FIRST[shell].format(script=script)}; echo loa''ded\n".encode())
        shown_until(terminal, "loaded")
        for typed, completed in COMPLETED:
            os.write(terminal, f"context-mode {typed}\t".encode())
            shown_until(terminal, f"context-mode {completed}")
            os.write(terminal, b"\x15 echo cle''ared\n")
            shown_until(terminal, "cleared")
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)


def shown_until(terminal: int, wanted: str) -> None:
    shown, deadline = b"", time.monotonic() + DEADLINE_S
    while wanted not in CONTROL.sub(b"", shown).decode(errors="replace"):
        assert time.monotonic() < deadline, (wanted, shown)
        if select.select([terminal], [], [], 1.0)[0]:
            shown += os.read(terminal, 65_536)


def test_fish_completes(place):
    need("fish")
    script = written(place, "fish")
    asked = "\n".join(f"echo (complete -C 'context-mode {typed}')[1]" for typed, _ in COMPLETED)
    done = subprocess.run(
        ["fish", "--no-config", "-c", f"source {script}\n{asked}"],
        env=place_environment(place),
        cwd=place / "project",
        capture_output=True,
        text=True,
        check=True,
    )
    words = [line.split("\t")[0] for line in done.stdout.splitlines()]
    assert words == [completed.split()[-1] for _, completed in COMPLETED]
    assert done.stderr == ""


def test_words_are_only_what_no_shell_changes():
    words = ["out-1/stdout", "a", "a", "$(rm x)", "`x`", "a b", "-rf", "*", "~", "a;b", "ü"]
    assert list(harmless(words)) == ["out-1/stdout", "a"]


def test_scripts_name_every_verb_and_no_home(place):
    for shell in ("bash", "zsh", "fish"):
        script = written(place, shell).read_text()
        assert [
            verb
            for verb in VERBS
            if verb != "hook" and not re.search(rf"(?<![\w-]){verb.split()[-1]}\b", script)
        ] == []
        assert str(place) not in script
