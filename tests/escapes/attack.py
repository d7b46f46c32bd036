"""What an attack is: a row of data. What it tries, what stops it where, and what proves that."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from executor import Limits, Result, Status
from tests.escapes.layers_off import Edit

if TYPE_CHECKING:
    from tests.escapes.arena import Arena

STARTED = "attack started"

Words = Mapping[str, str]
Setup = Callable[["Arena"], contextlib.AbstractContextManager[Words]]
After = Callable[["Arena", Result], None]


@dataclass(frozen=True, slots=True)
class Program:
    """An attack. `@word@` stands for a value of the arena, `NR.name` for a call's number."""

    language: str
    text: str


@dataclass(frozen=True, slots=True)
class Control:
    """The same probe where it must succeed, or the attack's failure proves nothing.

    With `off` in the same back end with those layers off; with `outside` as a process without
    any sandbox, of the server's own user ("server") or of the user that cells run as ("cell");
    with neither inside the very sandbox, where `limits`, `profile` or another `program` permit
    the act. Every regular expression of `shows` must match a line of the output.
    """

    shows: tuple[str, ...]
    off: tuple[Edit, ...] = ()
    outside: str = ""
    limits: Limits | None = None
    profile: str | None = None
    program: Program | None = None
    status: Status | None = Status.OK
    after: After | None = None
    where: Callable[[Arena], bool] = lambda _: True  # the identities that can do it at all


@dataclass(frozen=True, slots=True)
class Stopped:
    """The attack fails, for the reasons that every expression of `why` finds in its output."""

    by: str
    why: tuple[str, ...] = ()
    status: Status | tuple[Status, ...] = Status.OK
    after: After | None = None
    controls: tuple[Control, ...] = ()
    by_rlimits: str = ""  # where the same holds without a control group, by another layer
    by_b: str = ""  # and in tier B
    by_c: str = ""  # and in a container
    by_gvisor: str = ""  # and in one with gVisor

    def layer(self, column: str) -> str:
        """What stops it in a back end."""
        without = self.by_rlimits or self.by
        contained = self.by_c or self.by
        return {
            "A": self.by,
            "A without cgroup": without,
            "B": self.by_b or without,
            "C": contained,
            "C, runsc": self.by_gvisor or contained,
        }[column]


@dataclass(frozen=True, slots=True)
class NotStopped:
    """The attack succeeds here, as its output shows; `note` says what that means for a user."""

    note: str
    shows: tuple[str, ...]
    status: Status | tuple[Status, ...] = Status.OK
    after: After | None = None


@dataclass(frozen=True, slots=True)
class NotApplicable:
    """The attack can't even be tried: what it needs is missing, as `missing` finds out."""

    reason: str
    missing: Callable[[Arena], bool]


Expected = Stopped | NotStopped | NotApplicable
Scenario = Callable[["Arena"], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Attack:
    """One row. A `program`, judged by what is expected, or a `scenario` that itself asserts that
    the attack is stopped, and why, and its control; where it is not, the `program` shows it.

    The columns are the back ends: `a` tier A, `rlimits` tier A without a control group (None: as
    `a`), `b` tier B (None: as `rlimits`), `c` a container (None: as `a`), `gvisor` one with a
    kernel of its own (None: as `c`).
    """

    id: str
    title: str
    a: Expected
    program: Program | None = None
    scenario: Scenario | None = None
    rlimits: Expected | None = None
    b: Expected | None = None
    c: Expected | None = None
    gvisor: Expected | None = None
    limits: Limits = field(default_factory=lambda: Limits(wall_s=10))
    profile: str = "analyze"
    stdin: bytes | None = None
    env: Mapping[str, str] = field(default_factory=dict)  # of the server, before it starts
    setup: Setup | None = None

    def expected(self, column: str) -> Expected:
        """What must come of it in a back end, one of `COLUMNS`."""
        without = self.rlimits or self.a
        contained = self.c or self.a
        return {
            "A": self.a,
            "A without cgroup": without,
            "B": self.b or without,
            "C": contained,
            "C, runsc": self.gvisor or contained,
        }[column]


def python(text: str) -> Program:
    return Program("python", PYTHON + text)


def shell(text: str) -> Program:
    return Program("shell", f"echo {STARTED}\n{text}")


def perl(text: str) -> Program:
    return Program("perl", f'$| = 1; print "{STARTED}\\n";\n{text}')


def c(text: str) -> Program:
    return Program("c", f"{C}\n{text}")


PYTHON = f"""\
import ctypes, errno, os, signal, socket, struct, sys, time
print("{STARTED}", flush=True)
libc = ctypes.CDLL(None, use_errno=True)

def attempt(name, action, *args, **more):
    try:
        got = action(*args, **more)
    except OSError as error:
        print(name, errno.errorcode.get(error.errno, error.errno), flush=True)
        return None
    print(name, "done", flush=True)
    return got

def kernel(number, *args):
    wide = [ctypes.c_long(a) if isinstance(a, int) else a for a in args]
    result = libc.syscall(ctypes.c_long(number), *wide)
    if result < 0:
        raise OSError(ctypes.get_errno(), "")
    return result

def child(action):
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        try:
            action()
        except OSError:
            pass
        finally:
            sys.stdout.flush()
            os._exit(0)
    return pid

"""

C = f"""\
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((constructor)) static void started(void)
{{
    setvbuf(stdout, NULL, _IONBF, 0);
    puts("{STARTED}");
}}
"""
