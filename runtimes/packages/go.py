"""Go: modules are locked by go.sum, and programs find them by a workspace of one module."""

from __future__ import annotations

from runtimes.packages.programs import read_program
from runtimes.packages.tools import Ecosystem

_SET_UP = """\
export GOPROXY="$REGISTRY" GOFLAGS=-mod=mod GOTOOLCHAIN=local GO111MODULE=on GOWORK=off
case " $HOSTS " in *" sum.golang.org "*) ;; *) export GOSUMDB=off ;; esac
mkdir "$TMPDIR/work"; cd "$TMPDIR/work"
"""

_LOCK = _SET_UP + read_program("go_lock.sh")

# What is not in go.sum would be added to it, and taken as it comes.
_FETCH = _SET_UP + read_program("go_fetch.sh")

_PART = r"[A-Za-z0-9][A-Za-z0-9._~-]{0,80}"

GO = Ecosystem(
    name="go",
    title="Go",
    languages=("go",),
    registry="https://proxy.golang.org",
    hosts=("sum.golang.org",),
    spec=rf"{_PART}\.[A-Za-z]{{2,20}}(?:/{_PART}){{0,9}}(?:@v?[A-Za-z0-9.+-]{{1,80}})?",
    lock=_LOCK,
    fetch=_FETCH,
    at="/packages/go",
    env={"GOWORK": "/packages/go/work/go.work", "GOMODCACHE": "/packages/go/mod"},
    lock_name="go.sum",
    lock_files=(("go.sum", "go.mod"),),
    missing=r"no required module provides package ([^\s;:]+)",
    complaints=(
        (r"checksum mismatch|SECURITY ERROR", "a file is not what the lock's digest says"),
        (r"have a digest in go.sum", "the lock does not hold the digests of all modules"),
        (r"by folders of the project", "the lock holds what comes from no registry"),
        (
            r"404 Not Found|not found|no matching versions|invalid version",
            "there is no such module",
        ),
        (r"not a valid zip|malformed file path|zip:", "an archive is damaged"),
    ),
    extra_env={"GOPATH": "{scratch}/go", "GOCACHE": "{scratch}/go-build", "GOTELEMETRY": "off"},
    cooldown=False,
)
