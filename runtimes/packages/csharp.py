"""C#: NuGet's own program chooses versions and fetches; a program takes of them what Mono can load.

Debian's speaks version 2 of NuGet's protocol alone, so that the public registry is asked by that.
No script of a package is run: `nuget install` does not, and what is not an assembly is left.
"""

from __future__ import annotations

from runtimes.packages.programs import read_program
from runtimes.packages.tools import NUGET, Ecosystem

# Mono's own store of certificates is empty, unless the system's were once put there.
_TRUST = read_program("csharp_trust.cs")

# Names are read from the archive's table: NuGet unpacks them wherever they lead.
_CHECK = read_program("csharp_check.cs")

_SET_UP = read_program("csharp_set_up.sh").replace("@TRUST@", _TRUST).replace("@CHECK@", _CHECK)

# Of one package the highest version counts, as a program can load but one.
_LOCK = _SET_UP + read_program("csharp_lock.sh")

# NuGet has unpacked by then, in a cell that is thrown away; what it left counts once it is checked.
_FETCH = _SET_UP + read_program("csharp_fetch.sh")

CSHARP = Ecosystem(
    name="csharp",
    title="C#",
    languages=("csharp",),
    registry="https://www.nuget.org/api/v2",
    hosts=("api.nuget.org", "globalcdn.nuget.org"),
    spec=r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}(?:@[0-9][A-Za-z0-9.+-]{0,60})?",
    lock=_LOCK,
    fetch=_FETCH,
    at="/packages/csharp",
    env={"MONO_PATH": "/packages/csharp/lib"},
    arguments=("@/packages/csharp/references",),
    lock_name="packages.lock",
    tools=(NUGET,),
    complaints=(
        (r"for Mono alone", "the toolchain that runs is not Mono, which alone is given packages"),
        (r"digest mismatch", "a file is not what the lock's digest says"),
        (r"leads out of", "an archive holds a name that leads out of its folder"),
        (r"no assembly for Mono", "it has no assembly that Mono can load"),
        (
            r"Unable to (?:find|resolve|locate)|is not found|\(404\)",
            "there is no such package or version",
        ),
        (r"is no archive|hash of the package|corrupt|[Ii]nvalid.*(?:zip|archive|package)",
         "an archive is damaged"),
    ),
    extra_env={"HOME": "{scratch}/home", "MONO_REGISTRY_PATH": "{scratch}/.mono"},
    cooldown=False,
    pinned_here=True,
)  # fmt: skip
