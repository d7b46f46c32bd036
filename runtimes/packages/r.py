"""R: its registries tell no digests, so that those of the first download are pinned.

What compiles is compiled without network.
"""

from __future__ import annotations

from runtimes.packages.programs import read_program
from runtimes.packages.tools import Ecosystem

_LOCK = read_program("r_lock.sh")

_FETCH = read_program("r_fetch.sh")

_BUILD = read_program("r_build.sh")

R = Ecosystem(
    name="r",
    title="R",
    languages=("r",),
    registry="https://cloud.r-project.org",
    hosts=(),
    spec=r"[A-Za-z][A-Za-z0-9.]{0,63}",
    lock=_LOCK,
    fetch=_FETCH,
    build=_BUILD,
    at="/packages/r",
    env={"R_LIBS": "/packages/r/library"},
    lock_name="packages.lock",
    missing=r"there is no package called .([A-Za-z][A-Za-z0-9.]*)",
    complaints=(
        (r"no such package", "there is no such package"),
        (r"digest mismatch", "a file is not what the lock's digest says"),
        (r"leads out of", "an archive is damaged"),
        (r"unable to access index|cannot open URL|404 Not Found", "there is no such package"),
        (r"ERROR: (?:compilation|configuration|lazy loading|dependenc)", "it was not built"),
    ),
    extra_env={"R_LIBS": "{scratch}/out/tree/library", "MAKEFLAGS": "-j2"},
    cooldown=False,
    pinned_here=True,
)
