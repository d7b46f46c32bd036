"""Programs that start others by a convention of their own: a verb, a marker, a part of a value."""

from __future__ import annotations

import re

from policy.shell.call import Call, Runner, index_of


def _daemon(call: Call) -> str | None:
    """`start-stop-daemon --exec program -- arguments`."""
    for program in call.parsed.values(("x", "exec", "a", "startas")):
        call.run([program, *call.operands()])
    return None


def _window(call: Call) -> str | None:
    """A terminal's command stands behind `-e`, `-x` or `--`, as one text or as words."""
    index = index_of(call.argv, "-e", "-x", "--", "--command", "--execute")
    if index is None:
        return None
    words = call.argv[index + 1 :]
    return call.run_text(words[0]) if len(words) == 1 else call.run(words)


def _cmake(call: Call) -> str | None:
    """`cmake -E env A=1 cmd`, `cmake -E time cmd`, `cmake -E chdir folder cmd`."""
    index = index_of(call.argv[:-1], "-E")
    if index is None:
        return None
    tool, *words = call.argv[index + 1 :]
    if tool == "env":
        return call.run(["env", *(word for word in words if word[:2] != "--")])
    skipped = {"time": 0, "chdir": 1}.get(tool)
    return call.run(words[skipped:]) if skipped is not None else None


def _compiler(call: Call) -> str | None:
    """`gcc -wrapper cmd,argument`: it is put before every program that the compiler starts."""
    if (index := index_of(call.argv[:-1], "-wrapper")) is not None:
        call.run(call.argv[index + 1].split(","))
    return None


def _chooser(call: Call) -> str | None:
    """`fzf --bind 'enter:execute(cmd)'`: actions whose argument is a command."""
    for value in call.parsed.values(("bind",)):
        action = r"(?:execute|execute-silent|become|reload|reload-sync|preview|transform[\w-]*)"
        for match in re.finditer(rf"{action}(?:\((.*?)\)|\[(.*?)\]|:(.*))", value, re.DOTALL):
            call.run_text(match[1] or match[2] or match[3], f"{call.name} --bind")
    return None


def _packages(call: Call) -> str | None:
    """`apt -o DPkg::Pre-Invoke::=cmd`, `dpkg --pre-invoke=cmd`."""
    for value in call.parsed.values(("o", "option")):
        if hook := re.match(r"(?i)[\w:-]*(?:pre|post)-(?:invoke|install-pkgs)[\w:-]*=(.*)", value):
            call.run_text(hook[1], f"{call.name} hook")
    return None


RUNNERS: dict[str, Runner] = {
    "daemon": _daemon,
    "window": _window,
    "cmake": _cmake,
    "compiler": _compiler,
    "chooser": _chooser,
    "packages": _packages,
}
