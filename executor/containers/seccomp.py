"""The system call profile of a container: Docker's default allowlist without our denylist.

Docker's own profile can't be read from a daemon, so its list of calls is kept in `seccomp.json`, as
of `profiles/seccomp/default.json` of Moby at commit 00f3d189: what it allows without any
capability. With the calls that are listed there besides, a container that runs this program gives
its programs tier A. Programs in tier C are put under our own filter (`executor.engine.seccomp`)
besides, by the agent.
"""

from __future__ import annotations

import errno
import json
from pathlib import Path

from executor.engine.seccomp import ALLOWED_FAMILIES, CLONE_NEW_FLAGS, DENIED

ALLOW, REFUSE = "SCMP_ACT_ALLOW", "SCMP_ACT_ERRNO"


def profile() -> str:
    """The profile as Docker takes it (JSON). What it does not name is refused with EPERM.

    Only the engine's native system calls are known to it: without the 32-bit tables of the same
    processor, which Docker's own profile has, a call by one of them ends the process.
    """
    denied = {name for names in DENIED.values() for name in names.split()}
    usual, _ = json.loads(Path(__file__).with_name("seccomp.json").read_bytes())["syscalls"]
    names = [name for name in usual["names"] if name not in denied]
    names.append("ptrace")  # the agent's, to stop a session; our own filter refuses it to programs
    flags = sum(CLONE_NEW_FLAGS)
    rules = [
        {"names": names, "action": ALLOW},
        _rule("clone", index=0, value=flags, valueTwo=0, op="SCMP_CMP_MASKED_EQ"),
        _rule("personality", index=0, value=0, op="SCMP_CMP_EQ"),
        # Its flags lie behind a pointer: callers are told that it does not exist.
        {"names": ["clone3"], "action": REFUSE, "errnoRet": errno.ENOSYS},
        *(_rule("socket", index=0, value=int(f), op="SCMP_CMP_EQ") for f in ALLOWED_FAMILIES),
    ]
    return json.dumps({"defaultAction": REFUSE, "syscalls": rules})


def _rule(name: str, **argument: int | str) -> dict[str, object]:
    return {"names": [name], "action": ALLOW, "args": [argument]}
