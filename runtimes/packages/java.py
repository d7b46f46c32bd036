"""Java: Maven's own resolver chooses versions and fetches, without the plugins of its commands.

Those would be strangers' programs that run as their packages are had. Maven's registries tell
digests for the way alone, so that those of the first download are pinned.
"""

from __future__ import annotations

from runtimes.packages.programs import read_program
from runtimes.packages.tools import MVN, Ecosystem

CLASSES = "/packages/java/classpath.jar"

_PROGRAM = read_program("java_program.java")

# Debian's Maven is a folder of links to others.
_PHASE = read_program("java_phase.sh").replace("@PROGRAM@", _PROGRAM)

_NAME = r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}"

JAVA = Ecosystem(
    name="java",
    title="Java",
    languages=("java",),
    registry="https://repo.maven.apache.org/maven2",
    hosts=(),
    spec=rf"{_NAME}:{_NAME}(?::[A-Za-z0-9][A-Za-z0-9._+-]{{0,60}})?",
    lock=f"{_PHASE}lock >&2\n",
    fetch=f'{_PHASE}fetch >&2\ncp "$IN/packages.lock" "$OUT"\n',
    at="/packages/java",
    env={},
    # The classes of the program and of its project come first.
    arguments=("-cp", f"{{out}}:{{cwd}}:{CLASSES}"),
    lock_name="packages.lock",
    tools=(MVN,),
    complaints=(
        (r"digest mismatch", "a file is not what the lock's digest says"),
        (r"Checksum validation failed", "a file is not what the registry's digest says"),
        (r"leads out of|\.\./", "a package's name or version leads out of its folder"),
        (r"Could not find|No versions available|was not found in", "there is no such package"),
        (r"Failed to resolve version", "there is no such package or version"),
    ),
    cooldown=False,
    pinned_here=True,
)
