"""Rust: cargo locks and fetches; crates are compiled, with their build scripts, without network.

Programs are compiled by rustc alone. So the layer holds one that knows the crates.
"""

from __future__ import annotations

from runtimes.packages.programs import read_program
from runtimes.packages.tools import Ecosystem, Tool

_SET_UP = read_program("rust_set_up.sh")

_REGISTRY = read_program("rust_registry.sh")

_LOCK = _SET_UP + _REGISTRY + read_program("rust_lock.sh")

# A project's own manifest has targets that are not here: its dependencies are what counts.
_FETCH = (
    _SET_UP
    + """\
export CARGO_HOME="$OUT/cargo"
"""
    + _REGISTRY
    + read_program("rust_fetch.sh")
)

_BUILD = _SET_UP + read_program("rust_build.sh")

RUST = Ecosystem(
    name="rust",
    title="Rust",
    languages=("rust",),
    registry="https://index.crates.io",
    hosts=("static.crates.io",),
    spec=r"[A-Za-z][A-Za-z0-9_-]{0,63}(?:@[\^~=]?[0-9][A-Za-z0-9.+*-]{0,40})?",
    lock=_LOCK,
    fetch=_FETCH,
    build=_BUILD,
    at="/packages/rust",
    env={},
    paths={"rustc": "/packages/rust/bin/rustc"},
    lock_name="Cargo.lock",
    lock_files=(("Cargo.lock", "Cargo.toml"),),
    missing=(
        r"can't find crate for `([a-z]\w*)`|undeclared crate or module `([a-z]\w*)`"
        r"|unlinked crate `([a-z]\w*)`"
    ),
    complaints=(
        (
            r"failed to verify the checksum|changed between lock files",
            "a file is not what the lock's digest says",
        ),
        (r"of no registry", "the lock holds what comes from no registry"),
        (r"cargo is not beside", "cargo is missing beside rustc"),
        (r"is yanked", "a release was withdrawn (yanked)"),
        (
            r"no matching package|failed to select a version|not found in registry",
            "there is no such crate or version",
        ),
        (r"failed to unpack|invalid tarball", "an archive is damaged"),
        (r"could not compile|failed to run custom build", "it was not compiled without network"),
    ),
    beside=(Tool("cargo", "install cargo, by the same way as rustc"),),
    extra_env={
        "CARGO_HOME": "{scratch}/cargo-home",
        "CARGO_NET_RETRY": "1",
        "CARGO_TERM_PROGRESS_WHEN": "never",
    },
    cooldown=False,
)
