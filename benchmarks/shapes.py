"""Made-up sessions, by the shapes of `data/shapes.toml`.

Work moves through the files, so that what was used lately is used again; some files and commands
come back all the time. A session is first a list of steps, then told as Claude Code's records.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from benchmarks.harness import DATA
from memory.sessions.records import (
    CompactionRecord,
    MessageRecord,
    Record,
    SessionRecord,
    TaskRecord,
)

FOLDER = "/p"
CALLS_PER_PART, PARTS, COMMANDS = 260, 4, 30
PASTED_CHARS = 100_000
VERBS = ("must never", "always has to", "should not", "needs to")
THINGS = ("the parser", "the login page", "the importer", "the scheduler", "the cache")
AREAS = ("billing", "accounts", "shipping", "catalogue")
SHAPES: Mapping[str, Mapping[str, Any]] = tomllib.loads((DATA / "shapes.toml").read_text())


class Step(NamedTuple):
    """One thing that happens.

    Attributes:
        kind: `prompt`, `task`, `command`, `read`, `edit`, `failing` or `compaction`.
        what: the text, the path or the command.
    """

    kind: str
    what: str = ""


def _fill(template: str, chance: random.Random, n: int = 0, **more: str) -> str:
    """Return a text of a shape, its marks replaced and its choices made."""
    area = AREAS[n // 12 % len(AREAS)]
    values = {
        "n": str(n), "d": str(n // 12), "m": str(n % 17), "o": str(n % 40),
        "a": area, "A": area.capitalize(), **more,
    }  # fmt: skip
    if "%b" in template:
        lines = (f"value_{n}_{line} = compute(part={n}, line={line})" for line in range(110))
        values["b"] = "\n".join(lines)

    def choose(match: re.Match[str]) -> str:
        return chance.choice(re.split(r"(?<!\\)\|", match[1])).replace("\\|", "|")

    template = re.sub(r"\{(.*?)\|(.*?)\}", lambda m: m[1] if n % 2 else m[2], template)
    filled = re.sub(r"\[((?:[^]|]|\\\|)*\|[^]]*)\]", choose, template)
    return re.sub("%([a-zA-Z])", lambda match: values.get(match[1], match[0]), filled)


def make_session(name: str, seed: int) -> tuple[list[Record], list[str]]:
    """Make up the records of a session of a shape, and the facts that it is given."""
    shape = {**SHAPES["long"], **SHAPES[name]}
    chance, count = random.Random(seed), shape["files"]
    files = [_fill(shape["file"], chance, n) for n in range(count)]
    commands = [_fill(shape["command"], chance, n) for n in range(COMMANDS)]
    words = {"s": str(seed), "t": chance.choice(THINGS), "v": chance.choice(VERBS)}
    goal, rule, last = (_fill(shape[key], chance, 0, **words) for key in ("goal", "rule", "last"))
    pasted = shape.get("pasted", "")
    between = "\n" + pasted * (PASTED_CHARS // len(pasted)) if pasted else " "
    task, broken = f"Document part {seed} of {words['t']}", f"make broken-{seed}"
    steps = [Step("prompt", goal + between + rule), Step("task", task)]
    for part in range(PARTS):
        for number in range(CALLS_PER_PART):
            at = (part * CALLS_PER_PART + number) * count // (PARTS * CALLS_PER_PART)
            step = _use(chance, files, commands, at)
            if step.kind == "command":
                step = step._replace(what=step.what + _fill(shape.get("tail", ""), chance))
            steps.append(step)
        if part == 0:
            steps += [Step("failing", broken), Step("prompt", last)]
        steps.append(Step("compaction", str(part)))
    branch = f"topic/{seed}"
    facts = [goal[:60], rule, last, task, broken, branch]
    return list(_tell_records(steps, f"s{seed}", branch)), facts


def _use(chance: random.Random, files: Sequence[str], commands: Sequence[str], at: int) -> Step:
    """Use mostly what the work is at, sometimes anything."""
    near = max(0, min(len(files) - 1, round(chance.gauss(at, 4))))
    if chance.random() < 0.3:
        return Step("command", commands[min(int(chance.expovariate(0.6)), len(commands) - 1)])
    path = files[near] if chance.random() < 0.85 else chance.choice(files[:8])
    return Step("edit" if chance.random() < 0.4 else "read", path)


def _full(path: str) -> str:
    return path if path.startswith("/") else f"{FOLDER}/{path}"


def _tell_records(steps: Sequence[Step], session: str, branch: str) -> Iterator[Record]:
    """Tell the steps as records, as they are read from Claude Code's lines."""
    yield SessionRecord(session, working_directory=FOLDER, git_branch=branch)
    for number, (kind, what) in enumerate(steps):
        key = str(number)
        if kind == "prompt":
            yield MessageRecord(key, key, "user", what, 1.0, is_prompt=True)
        elif kind == "task":
            yield TaskRecord("1", what)
        elif kind == "compaction":
            yield CompactionRecord(key)
        else:
            is_command = kind in ("command", "failing")
            tool = "Bash" if is_command else kind.capitalize()
            params = {"command": what} if is_command else {"file_path": _full(what)}
            code = 2 if kind == "failing" else None
            said = "error: no" if code else "ok"
            call = MessageRecord(key, key, "tool_call", at=1.0, tool=tool, params=params)
            yield call._replace(call_id=key)
            answer = MessageRecord(f"{key}r", f"{key}r", "tool_result", said, 1.0, call_id=key)
            yield answer._replace(failed=bool(code), exit_code=code)
