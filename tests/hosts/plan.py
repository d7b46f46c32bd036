"""What is asked of every host: calls of our tools, and its own tools' calls that the rules judge.

Whether a rule held is told by what happened on the disk, not by words alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.hosts.catalog import OwnTools
from tests.hosts.driver import Ground
from tests.hosts.script import Call, Shown

SECRET = "Zq81sPlmSecretOfTheProject"
LOG = "".join(
    f"2026-01-01 00:{n // 60:02}:{n % 60:02} {'ERROR' if n % 16 == 0 else 'INFO'} request {n} took"
    f" {n * 7 % 90} ms\n"
    for n in range(600)
)
FILES: Mapping[str, bytes] = {
    "notes.txt": b"The quick brown fox.\n",
    "data.log": LOG.encode(),
    ".env": f"KEY={SECRET}\n".encode(),
}
RULES = """\
[[rule]]
id = "no-env"
decision = "deny"
read = [".env"]

[[rule]]
id = "no-force"
decision = "deny"
commands = ["git push --force *"]

[[rule]]
id = "no-removal"
decision = "deny"
commands = ["rm -rf *"]

[[rule]]
id = "no-git-hooks"
decision = "deny"
write = [".git/hooks/**"]

[[rule]]
id = "ask-first"
decision = "ask"
commands = ["touch asked-*"]
"""


@dataclass(frozen=True, slots=True)
class Typical:
    """A call of one of our tools, and a text that a right answer has."""

    name: str
    call: Call
    answer: str


def _call(tool: str, **arguments: Any) -> Call:
    return Call(tool, arguments)


_GUIDE = (
    "# Harbour\n\nShips moor at pier seven.\n\n# Lighthouse\n\nThe lamp turns twice a minute.\n"
)
# The nine calls whose bytes are measured; the first four and the sixth are the five that must work.
TYPICAL: Sequence[Typical] = (
    Typical("shell", _call("ctx_execute", language="shell", code="echo hi | tr a-z A-Z"), "HI"),
    Typical("python", _call("ctx_execute", language="python", code="print(6 * 7)"), "42"),
    Typical(
        "file",
        _call(
            "ctx_execute_file",
            path="data.log",
            language="python",
            code="print(FILE_CONTENT.count('ERROR'))",
        ),
        "38",
    ),
    Typical(
        "batch",
        _call(
            "ctx_batch_execute",
            commands=[
                {"label": "log", "command": "cat data.log"},
                {"label": "files", "command": "ls -la"},
            ],
            queries=["request 317"],
        ),
        "request 317",
    ),
    Typical("index", _call("ctx_index", content=_GUIDE, source="guide"), "guide"),
    Typical("search", _call("ctx_search", queries=["lamp turns"]), "twice a minute"),
    Typical("large", _call("ctx_execute", language="shell", code="cat data.log"), "request 599"),
    Typical(
        "intent",
        _call("ctx_execute", language="shell", code="cat data.log", intent="request 317"),
        "request 317",
    ),
    Typical(
        "error", _call("ctx_execute", language="python", code="raise ValueError('odd')"), "odd"
    ),
)
FIVE = ("shell", "python", "file", "batch", "search")
CURL = "curl -s http://example.com/"
REDIRECTED = "ctx_fetch_and_index"


@dataclass(frozen=True, slots=True)
class Deed:
    """A call of a host's own tool. `is_done` tells, by the disk or the shown text, whether it did
    what it asks; `rule` is the id of the rule that speaks of it."""

    name: str
    make: Callable[[OwnTools, Ground], Call]
    is_done: Callable[[Ground, str], bool]
    rule: str = ""


def outside(ground: Ground) -> Path:
    """A folder beside the project, that a deed would remove."""
    return ground.home.parent / "outside"


def remote(ground: Ground) -> Path:
    """A repository beside the project, to which a deed would push."""
    return ground.home.parent / "remote"


_HOOK = ".git/hooks/pre-commit"
REFUSED: Sequence[Deed] = (
    Deed(
        "reading .env",
        lambda own, ground: own.read(str(ground.project / ".env")),
        lambda _, text: SECRET in text,
        "no-env",
    ),
    Deed(
        "cat .env",
        lambda own, _: own.shell("cat .env"),
        lambda _, text: SECRET in text,
        "no-env",
    ),
    Deed(
        "git push --force",
        lambda own, ground: own.shell(f"git push --force {remote(ground)} HEAD:refs/heads/pushed"),
        lambda ground, _: (remote(ground) / "refs/heads/pushed").exists(),
        "no-force",
    ),
    Deed(
        "rm -rf outside",
        lambda own, ground: own.shell(f"rm -rf {outside(ground)}"),
        lambda ground, _: not outside(ground).exists(),
        "no-removal",
    ),
    Deed(
        "writing .git/hooks",
        lambda own, ground: own.write(str(ground.project / _HOOK), "exit 1"),
        lambda ground, _: (ground.project / _HOOK).exists(),
        "no-git-hooks",
    ),
)
ASKED = Deed(
    "asking first",
    lambda own, _: own.shell("touch asked-for"),
    lambda ground, _: (ground.project / "asked-for").exists(),
    "ask-first",
)
PASSED: Sequence[Deed] = (
    Deed("echo", lambda own, _: own.shell("expr 40 + 2"), lambda _, text: "42" in text),
    Deed(
        "reading notes.txt",
        lambda own, ground: own.read(str(ground.project / "notes.txt")),
        lambda _, text: "quick brown" in text,
    ),
    Deed(
        "writing new.txt",
        lambda own, ground: own.write(str(ground.project / "new.txt"), "new"),
        lambda ground, _: (ground.project / "new.txt").exists(),
    ),
)


def text_of(shown: Shown) -> str:
    """What the model was shown, as plain text where the host hands over JSON."""
    return (shown.text or "").replace('\\"', '"').replace("\\n", "\n")
