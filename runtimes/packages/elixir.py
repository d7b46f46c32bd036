"""Elixir: Hex locks with digests and fetches; Mix compiles without network.

While Mix fetches it knows from the registry what a package needs, and evaluates nothing of it.
"""

from __future__ import annotations

from runtimes.packages.programs import read_program
from runtimes.packages.tools import HEX, MIX, Ecosystem

# What a registry of one's own signs, it signs by a key of its own.
_SET_UP = read_program("elixir_set_up.sh")

_LOCK = _SET_UP + read_program("elixir_lock.sh")

# A lock is read as data. All that it holds is demanded at its version, so that nothing is resolved.
_READ = read_program("elixir_read.exs")

_FETCH = _SET_UP + read_program("elixir_fetch.sh").replace("@READ@", _READ)

_BUILD = _SET_UP + read_program("elixir_build.sh")

ELIXIR = Ecosystem(
    name="elixir",
    title="Elixir",
    languages=("elixir",),
    registry="https://repo.hex.pm",
    hosts=(),
    spec=r"[a-z][a-z0-9_]{0,63}(?:@(?:~>|>=|==)?\s?[0-9][0-9A-Za-z.+-]{0,40})?",
    lock=_LOCK,
    fetch=_FETCH,
    build=_BUILD,
    at="/packages/elixir",
    env={"ERL_LIBS": "/packages/elixir/lib"},
    lock_name="mix.lock",
    lock_files=(("mix.lock",),),
    tools=(MIX, HEX),
    complaints=(
        (
            r"checksum mismatch|[Cc]hecksum.*(?:does ?n.t|did not|not) match|mismatch.*checksum"
            r"|did NOT match",
            "a file is not what the lock's digest says",
        ),
        (r"no lock of Mix's", "the file is no lock of Mix's"),
        (r"failed_connect|tls_alert", "the registry was not reached as it should be"),
        (r"holds no digest", "the lock holds no digest of it"),
        (r"is of no registry", "the lock holds what comes from no registry"),
        (r"[Uu]npacking tarball failed|tarball error", "an archive is damaged"),
        (
            r"No package with name|no such package|doesn.t match any versions",
            "there is no such package or version",
        ),
        (r"version solving failed|resolution failed", "no versions fit together"),
        (r"leads out of", "a name leads out of its folder"),
        (r"could not compile dependency|== Compilation error", "it was not built"),
    ),
    extra_env={
        "HOME": "{scratch}/home",
        "MIX_HOME": "{scratch}/mix",
        "HEX_HOME": "{scratch}/hex",
        "MIX_ENV": "prod",
        "HEX_HTTP_TIMEOUT": "60",
        "ELIXIR_ERL_OPTIONS": "+fnu",
    },
    cooldown=False,
)
