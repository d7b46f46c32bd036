"""Attacks as tables: runs of `build`, and what harm they would have done to the project."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from executor import Result
from tests.escapes import layers_off as off
from tests.escapes.arena import Arena
from tests.escapes.attack import Scenario, shell
from tests.escapes.protected import _outcome_of_git

S_MAX = 60
GIT = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "HOME": "/nonexistent",
    **{f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}
SETTINGS = "; ".join(f"export {name}={value}" for name, value in GIT.items() if name != "PATH")


@dataclass(frozen=True, slots=True)
class Harm:
    """What runs of a program do one after the other, and a command of the host that shows it.

    `prepare` runs on the host before; `shows` fails, on the host, where no harm was done.
    `proof` in the commands is a file that a planted command makes: `shows` of "git" looks for it.
    """

    name: str
    runs: tuple[str, ...]
    shows: str
    prepare: str = ""
    told: tuple[str, ...] = ()  # paths that some result says were not committed


def scenario(harms: Sequence[Harm], repository: str) -> Scenario:
    """Try each in a project made by `repository`; then without the door, which is the control."""

    async def try_all(arena: Arena) -> None:
        proof = arena.tmp_path / "proof"
        arena.words["proof"] = str(proof)
        for harm in harms:
            for off_now in ((), (off.protection,)):
                _make_project(arena, f"{repository}\n{harm.prepare}")
                proof.unlink(missing_ok=True)
                results = [
                    await arena.run(shell(f"{SETTINGS}\n{text}"), off_now, profile="build")
                    for text in harm.runs
                ]
                was_done = _is_done(arena, harm, proof)
                said = [(r.status.value, r.stderr.text, r.not_committed) for r in results]
                assert was_done is bool(off_now), f"{harm.name}, with {off_now}: {said}"
                if not off_now:
                    _is_told(harm, results)

    return try_all


def _make_project(arena: Arena, script: str) -> None:
    subprocess.run(["find", str(arena.project), "-mindepth", "1", "-delete"], check=True)
    text = arena.text(shell(script))
    done = _on_host(arena.project, f"set -e\n{text}")
    assert done.returncode == 0, done.stderr


def _on_host(project: Path, script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", script],
        cwd=project, env=GIT, capture_output=True, text=True, timeout=S_MAX, check=False,
    )  # fmt: skip


def _is_done(arena: Arena, harm: Harm, proof: Path) -> bool:
    if harm.shows == "git":
        return _outcome_of_git(arena.project, proof)
    return _on_host(arena.project, arena.text(shell(harm.shows))).returncode == 0


def _is_told(harm: Harm, results: Sequence[Result]) -> None:
    told = {left.path for result in results for left in result.not_committed}
    assert told >= set(harm.told), f"{harm.name}: {told}"
