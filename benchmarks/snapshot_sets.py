"""Sessions that are made up, a shape each: what a snapshot is measured on besides real ones.

Each is a seed's: work moves through the files, so that what was used lately is used again, and some
files and commands come back all the time. A session is first a list of steps, which are then told
as one host or another writes them; where a host's records are told, its importer reads them.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from memory.sessions.importers import codex, gemini_cli
from memory.sessions.records import (
    CompactionRecord,
    MessageRecord,
    Record,
    SessionRecord,
    TaskRecord,
)

FOLDER = "/p"
CALLS_PER_PART, PARTS = 260, 4
_VERBS = ("must never", "always has to", "should not", "needs to")
_THINGS = ("the parser", "the login page", "the importer", "the scheduler", "the cache")
_PASTED = "2026-01-01T00:00:00 worker 7 served request 12 of 40 in 13 ms\n"
_TAILS = ("", " | tail -30", " 2>&1 | tail -20", " 2>&1 | head -50", " 2>&1", " | tail -n 5")


@dataclass(frozen=True, slots=True)
class Session:
    """One session's records, and the facts that it was given."""

    records: Sequence[Record]
    facts: Sequence[str] = ()


class Step(NamedTuple):
    """One thing that happens: `prompt`, `task`, `command`, `read`, `edit`, `failing` or
    `compaction`, and what it is about."""

    kind: str
    what: str = ""


class Words(NamedTuple):
    """What a session is told: the first prompt is the goal and then the rule."""

    goal: str
    rule: str
    last: str
    between: str = " "


class Shape(NamedTuple):
    """How a set's sessions are made."""

    files: int = 240
    name_file: Callable[[int, random.Random], str] = lambda n, chance: (
        f"src/{chance.choice('abcdefgh')}{n % 17}/module_{n}.py"
    )
    name_command: Callable[[int], str] = lambda n: f"make check-{n} ARGS='--only part{n}'"
    vary: Callable[[str, random.Random], str] = lambda command, _: command
    tell: Callable[[int, str, str], Words] = lambda seed, thing, verb: Words(
        f"Rewrite {thing} so that request {seed} is served within a second.",
        f"The table of {thing} {verb} be changed by request {seed}.",
        f"Now go on with part {seed} of {thing}.",
    )
    host: str = "claude_code"


def _name_deep(n: int, chance: random.Random) -> str:
    """Name a file as large projects do: 90 bytes and more, a dozen files a folder."""
    area = ("billing", "accounts", "shipping", "catalogue")[n // 12 % 4]
    kind = chance.choice(("handlers", "repositories", "models"))
    folder = f"packages/{area}-service/src/main/java/com/example/platform/{area}/feature{n // 12}"
    return f"{folder}/{kind}/{area.capitalize()}Module{n}.java"


def _name_outside(n: int, chance: random.Random) -> str:
    package = chance.choice(("requests", "urllib3", "anyio", "pydantic"))
    return f"/usr/local/lib/python3.13/site-packages/{package}/internal/part_{n % 40}/module_{n}.py"


def _write_file(n: int) -> str:
    body = "\n".join(f"value_{n}_{line} = compute(part={n}, line={line})" for line in range(110))
    where = f"cat > tools/part_{n}/generate.py" if n % 2 else "python3 -"
    return f"{where} <<'EOF'\n# Step {n} of the migration\n{body}\nEOF"


def _tell_behind_paste(seed: int, thing: str, verb: str) -> Words:
    words = Shape().tell(seed, thing, verb)
    return words._replace(between="\n" + _PASTED * (100_000 // len(_PASTED)))


def _tell_without_cues(seed: int, thing: str, verb: str) -> Words:
    return (
        Shape()
        .tell(seed, thing, verb)
        ._replace(rule=f"The table of {thing} stays as it is during request {seed}.")
    )


def _tell_in_german(seed: int, thing: str, _: str) -> Words:
    return Words(
        f"Schreib {thing} neu, damit Anfrage {seed} in einer Sekunde beantwortet ist.",
        f"Die Tabelle für {thing} darf bei Anfrage {seed} niemals geändert werden.",
        f"Jetzt mach mit Teil {seed} von {thing} weiter.",
    )


def _tell_in_chinese(seed: int, thing: str, _: str) -> Words:
    return Words(
        f"重写 {thing}，让请求 {seed} 在一秒内完成。",  # noqa: RUF001 - wide marks
        f"请求 {seed} 期间不能修改 {thing} 的表。",
        f"现在继续 {thing} 的第 {seed} 部分。",
    )


SHAPES: Mapping[str, Shape] = {
    "long": Shape(),
    "600 files": Shape(600),
    "600 files, long paths": Shape(600, _name_deep),
    "600 files outside": Shape(600, _name_outside),
    "commands of 5 KB": Shape(name_command=_write_file),
    "commands with tails": Shape(vary=lambda command, chance: command + chance.choice(_TAILS)),
    "a rule behind 100 KB": Shape(tell=_tell_behind_paste),
    "no cue words": Shape(tell=_tell_without_cues),
    "in German": Shape(tell=_tell_in_german),
    "in Chinese": Shape(tell=_tell_in_chinese),
    "as Codex records": Shape(host="codex"),
    "as Gemini CLI records": Shape(host="gemini"),
    "as Codex records, 600 long paths": Shape(600, _name_deep, host="codex"),
    "as Gemini CLI records, 600 long paths": Shape(600, _name_deep, host="gemini"),
}
"""By their names in the report."""


def make_session(shape: Shape, seed: int) -> Session:
    """Make up a session of a shape, with facts in it."""
    chance = random.Random(seed)
    files = [shape.name_file(n, chance) for n in range(shape.files)]
    commands = [shape.name_command(n) for n in range(30)]
    thing = chance.choice(_THINGS)
    words = shape.tell(seed, thing, chance.choice(_VERBS))
    task, broken = f"Document part {seed} of {thing}", f"make broken-{seed}"
    steps = [Step("prompt", words.goal + words.between + words.rule), Step("task", task)]
    for part in range(PARTS):
        for number in range(CALLS_PER_PART):
            at = (part * CALLS_PER_PART + number) * shape.files // (PARTS * CALLS_PER_PART)
            steps.append(_use(chance, shape, files, commands, at))
        if part == 0:
            steps += [Step("failing", broken), Step("prompt", words.last)]
        steps.append(Step("compaction", str(part)))
    branch = f"topic/{seed}"
    facts = [words.goal[:60], words.rule, words.last, task, broken]
    if shape.host != "gemini":  # it records no branch
        facts.append(branch)
    return Session(list(_HOSTS[shape.host](steps, f"s{seed}", branch)), facts)


def _use(
    chance: random.Random, shape: Shape, files: Sequence[str], commands: Sequence[str], at: int
) -> Step:
    """Use mostly what the work is at, sometimes anything."""
    near = max(0, min(len(files) - 1, round(chance.gauss(at, 4))))
    if chance.random() < 0.3:
        command = commands[min(int(chance.expovariate(0.6)), len(commands) - 1)]
        return Step("command", shape.vary(command, chance))
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
            yield MessageRecord(
                key, key, "tool_call", at=1.0, tool=tool, params=params, call_id=key
            )
            yield MessageRecord(
                f"{key}r",
                f"{key}r",
                "tool_result",
                said,
                1.0,
                call_id=key,
                failed=bool(code),
                exit_code=code,
            )


def _tell_codex(steps: Sequence[Step], session: str, branch: str) -> Iterator[Record]:
    """Tell the steps as a thread of Codex: files are read by commands and edited by patches."""
    state: dict[str, Any] = {}
    meta = {"id": session, "cwd": FOLDER, "git": {"branch": branch}}
    yield from codex.parse_line({"type": "session_meta", "payload": meta}, state)
    for number, step in enumerate(steps):
        for kind, payload in _codex_lines(step, f"call_{number}"):
            yield from codex.parse_line({"type": kind, "payload": payload}, state)


def _codex_lines(step: Step, call_id: str) -> Iterator[tuple[str, dict[str, Any]]]:
    kind, what = step
    if kind == "prompt":
        content = [{"type": "input_text", "text": what}]
        yield "response_item", {"type": "message", "role": "user", "content": content}
        return
    if kind == "compaction":
        yield "compacted", {"message": ""}
        return
    call: dict[str, Any] = {"type": "function_call", "name": "exec_command", "call_id": call_id}
    output = "Process exited with code 0\nok"
    if kind == "task":
        plan = [{"step": what, "status": "in_progress"}]
        call.update(name="update_plan", arguments=json.dumps({"plan": plan}))
    elif kind == "edit":
        patch = f"*** Begin Patch\n*** Update File: {what}\n@@\n-old\n+new\n*** End Patch"
        call.update(type="custom_tool_call", name="apply_patch", input=patch)
    else:
        command = f"sed -n '1,200p' {what}" if kind == "read" else what
        call["arguments"] = json.dumps({"cmd": command, "workdir": FOLDER})
        output = output if kind != "failing" else "Process exited with code 2\nerror: no"
    yield "response_item", call
    answer = {"type": f"{call['type']}_output", "call_id": call_id, "output": output}
    yield "response_item", answer


def _tell_gemini(steps: Sequence[Step], session: str, _: str) -> Iterator[Record]:
    """Tell the steps as a session of Gemini CLI, whose folder names the project."""
    state: dict[str, Any] = {}
    yield SessionRecord(session, working_directory=FOLDER)
    yield from gemini_cli.parse_line({"sessionId": session, "projectHash": "0"}, state)
    for number, step in enumerate(steps):
        yield from gemini_cli.parse_line(_gemini_line(step, f"m{number}"), state)


def _gemini_line(step: Step, key: str) -> dict[str, Any]:
    kind, what = step
    if kind == "prompt":
        return {"id": key, "type": "user", "content": [{"text": what}]}
    if kind == "compaction":
        summary = "<state_snapshot>\nThe work goes on.\n</state_snapshot>"
        return {"$set": {"messages": [{"id": key, "type": "user", "content": summary}]}}
    tools: dict[str, tuple[str, dict[str, Any]]] = {
        "task": ("write_todos", {"todos": [{"description": what, "status": "pending"}]}),
        "read": ("read_file", {"file_path": _full(what)}),
        "edit": ("replace", {"file_path": _full(what), "old_string": "a", "new_string": "b"}),
    }
    name, args = tools.get(kind, ("run_shell_command", {"command": what}))
    said = "Output: error: no\nExit Code: 2" if kind == "failing" else "Output: ok"
    result = [{"functionResponse": {"id": key, "name": name, "response": {"output": said}}}]
    call = {"id": key, "name": name, "args": args, "result": result, "status": "success"}
    return {"id": key, "type": "gemini", "content": "", "toolCalls": [call]}


_HOSTS: Mapping[str, Callable[[Sequence[Step], str, str], Iterator[Record]]] = {
    "claude_code": _tell_records,
    "codex": _tell_codex,
    "gemini": _tell_gemini,
}
