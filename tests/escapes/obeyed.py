"""Attacks by every name that some tool obeys, and under the profile that commits nothing."""

from __future__ import annotations

import json
from pathlib import Path

from executor import Limits, Result
from executor.project.rules.names import ROWS, ChangeVerdict
from executor.request import Profile, ProjectAccess
from tests.escapes import layers_off as off
from tests.escapes.arena import Arena
from tests.escapes.attack import Attack, Control, NotApplicable, NotStopped, Stopped, python, shell

LIVE = Profile("dev", ProjectAccess.LIVE)  # a user's own; none is built in


def _paths() -> tuple[str, ...]:
    """One for each row of the table, in a folder of its own where that counts; and unknown ones."""
    found = ["u/.unknown", "u/.un/known", "u/ENVRC~1", "u/.GIT/hooks/x", "u/.hg/hgrc"]
    rows = [row for row in ROWS if row.verdict is not ChangeVerdict.COMMIT]
    for number, row in enumerate(rows):
        name = row.pattern.replace("*", "x")
        found.append(name[1:] if name.startswith("/") else f"d{number}/{name}")
        if row.anywhere:
            found.append(f"node_modules/p{number}/{name}")
    return tuple(found)


PATHS = _paths()
PLANT = python(f"""
import json
for path in json.loads({json.dumps(json.dumps(PATHS))}):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    open(path, "w").write("evil")
print("planted", flush=True)
""")


def _none_came(arena: Arena, result: Result) -> None:
    assert [path for path in PATHS if (arena.project / path).exists()] == []
    assert result.not_committed


def _all_came(arena: Arena, _: Result) -> None:
    assert [path for path in PATHS if not (arena.project / path).exists()] == []


def _written_at_once(arena: Arena, _: Result) -> None:
    assert (arena.project / ".envrc").read_text() == "evil\n"
    assert Path(arena.home, "secret").read_text().strip() == arena.canary


ATTACKS = (
    Attack(
        "X67",
        "every name that is never committed or held, at any depth, among packages",
        Stopped(
            "never committed, or held for review",
            ("^planted$",),
            after=_none_came,
            controls=(Control(("^planted$",), (off.protection,), after=_all_came),),
        ),
        PLANT,
        profile="build",
        limits=Limits(wall_s=60),
    ),
    Attack(
        "X75",
        "files that tools execute, under a profile `live` of the user's own file",
        NotStopped(
            "granted by the user: writes take effect at once; secrets stay hidden",
            ("^written$",),
            after=_written_at_once,
        ),
        shell("echo evil > .envrc && echo written; cat @secret@; true"),
        profile=LIVE.name,
        b=NotApplicable(
            "profiles `live` need tier A, as the error states", lambda arena: arena.tier == "B"
        ),
        c=NotApplicable(
            "profiles `live` need tier A, as the error states", lambda arena: arena.tier == "C"
        ),
    ),
)
