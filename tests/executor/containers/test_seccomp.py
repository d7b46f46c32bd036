"""The shipped profile of system calls: what it adds to a container's usual ones, and what for."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from executor.containers.create import make_profile
from executor.engine.seccomp import ALLOWED

ROOT = Path(__file__).parents[3]
SECCOMP = json.loads((ROOT / "executor/containers/seccomp.json").read_text())


def test_the_profile_adds_to_what_containers_may_what_makes_and_stops_cells():
    usual, besides = (set(one["names"]) for one in SECCOMP["syscalls"])
    assert SECCOMP["defaultAction"] == "SCMP_ACT_ERRNO"
    assert {one["action"] for one in SECCOMP["syscalls"]} == {"SCMP_ACT_ALLOW"}
    assert usual == set(ALLOWED.split()) - besides
    assert not {"bpf", "init_module", "kexec_load", "keyctl", "setns"} & (usual | besides)


def test_a_container_of_tier_c_may_call_none_of_what_makes_cells():
    rules = json.loads(make_profile())["syscalls"]
    (unconditional,) = (set(rule["names"]) for rule in rules if len(rule["names"]) > 1)
    assert {"read", "openat", "ptrace"} <= unconditional  # its agent stops sessions
    assert not {"mount", "pivot_root", "unshare", "clone"} & unconditional


# Loads a filter of these calls, then becomes another program, which can't be rid of it.
UNDER_FILTER = """
import errno, os, sys
import pyseccomp
only = pyseccomp.SyscallFilter(pyseccomp.ERRNO(errno.EPERM))
for name in sys.argv[1].split():
    try:
        only.add_rule(pyseccomp.ALLOW, name)
    except (OSError, ValueError):
        pass  # of another processor, or younger than this libseccomp
only.load()
os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
"""


def tier_under(calls: set[str], folder: Path) -> str:
    """The tier of a run that may make these calls alone, or what is said where there is none."""
    (folder / "project").mkdir()
    env = {**os.environ, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder / "config")}
    words = ["-m", "ctxmode", "run", "shell", "-c", "echo", "--json", "--project", "project"]
    done = subprocess.run(
        [sys.executable, "-c", UNDER_FILTER, " ".join(sorted(calls)), *words],
        cwd=folder,
        env={**env, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    found = re.search(r'"tier": ?"(\w)"', done.stdout)
    return found[1] if found else done.stderr


def test_a_run_under_the_profile_has_tier_a_and_without_what_it_adds_has_not(tmp_path: Path):
    usual, besides = (set(one["names"]) for one in SECCOMP["syscalls"])
    for name in ("all", "less"):
        (tmp_path / name).mkdir()
    assert tier_under(usual | besides, tmp_path / "all") == "A"
    less = besides - {"unshare", "mount", "pivot_root"}
    without = tier_under(usual | less, tmp_path / "less")
    # Or containers, where an engine answers.
    assert without in ("B", "C") or "tier A: unshare mount namespace" in without
