"""Wrappers: programs that start the command in their operands, as it stands or changed."""

from __future__ import annotations

import re

from policy import marks
from policy.shell.assignments import consider_variable
from policy.shell.call import ProgramCall
from policy.shell.options import parse
from policy.shell.outputs import quote
from policy.shell.programs import QUERY_OPTIONS
from policy.shell.redirections import STDIN_PATHS, file_text
from policy.shell.script_files import run_script_file


def run_argv(call: ProgramCall) -> str | None:
    """`nice cmd`, `timeout 5 cmd`: the operands are a command."""
    inner = call.operands()[call.program.skip :]
    if call.parsed.has(*QUERY_OPTIONS.get(call.name, frozenset())):
        return None
    if len(inner) > 1 and "c" in call.program.short and re.match(r"-c$|--co?m?m?a?", inner[0]):
        return call.run_text(inner[1])
    if call.program.skip and inner[:1] and inner[0][:1] == "-":
        inner = tuple(call.words((call.name, *inner)))  # options behind the first operand
    if len(inner) == 1 and " " in inner[0]:
        return call.run_text(inner[0])
    return call.run(inner) if inner else None


def run_env(call: ProgramCall) -> str | None:
    """Variables first, then a command; `env -S` splits one string into both."""
    for folder in call.parsed.values(("chdir", "C" if call.name == "env" else "D")):
        call = call.inside_folder(folder)
    state = call.state.copy()
    if call.parsed.has(*QUERY_OPTIONS.get(call.name, frozenset())):
        return None
    words = list(call.operands())
    for index, word in enumerate(call.argv[1:], 1) if call.name == "env" else ():
        if split := re.match(r"(?:-[iv0]*S|--s[a-z-]*=?)(.*)", word, re.DOTALL):
            rest = map(quote, call.argv[index + 1 + (not split[1]) :])
            text = split[1] or "".join(call.argv[index + 1 : index + 2])
            call.run_text(" ".join((text, *rest)), "env -S")
            return None
        if word in words:
            break
    if call.parsed.has("i", "ignore-environment") or words[:1] == ["-"]:
        state.env = {}
    words = words[1:] if words[:1] == ["-"] else words
    inner = call.inside()
    while words and re.match(r"[A-Za-z_]\w*=", words[0]):
        name, _, value = words.pop(0).partition("=")
        state.assign(name, (value,))
        state.export(name)
        consider_variable(call.walker, name, state, inner)
    if words:
        return call.run(words, state)
    if call.parsed.has("s", "i", "login") and call.name == "sudo" and call.frame.stdin:
        call.run_text(call.frame.stdin, "sudo -s")
    return None


def run_remote(call: ProgramCall) -> str | None:
    """`ssh host words`: the words are joined and run by the remote shell."""
    parsed = parse(call.argv, call.program.short, permutes=False)
    # A key in ~/.ssh is what ssh is there to use, any other is a file that it reads.
    call.report_files(*(key for key in parsed.values(("i",)) if ".ssh/" not in key))
    for value in parsed.values(("o",)):
        key, _, text = value.replace("=", " ", 1).partition(" ")
        if key.lower() in ("proxycommand", "localcommand", "knownhostscommand", "remotecommand"):
            call.run_text(text, "ssh -o")
    if not call.program.skip:  # scp, sftp
        return None
    words = [word for _, word in parsed.operands][1:]
    words = words[1:] if words[:1] == ["--"] else words
    state = call.state_elsewhere()
    inner = call.inside()._replace(is_visible=False, is_syntactic=False)
    if words:
        return call.walker.run_text(" ".join(words), state, inner)
    if call.frame.stdin is not None and not parsed.has("N"):
        call.walker.run_text(call.frame.stdin, state, inner._replace(stdin=None))
    return None


def run_shell(call: ProgramCall) -> str | None:
    """`sh -c text name args`, `sh script args`, `sh -s args < text`."""
    argv = _without_plus(call.argv)
    parsed = parse(argv, "Oo", ("rcfile", "init-file", "command"), permutes=False)
    operands = tuple(word for _, word in parsed.operands)
    if parsed.has("n"):  # the syntax is checked, and nothing runs
        return ""
    state = call.state.copy()
    state.functions, state.aliases = dict(call.state.functions), {}
    inner = call.inside(f"{call.name} -c")._replace(is_syntactic=False)
    for startup in parsed.values(("rcfile", "init-file")):
        run_script_file(call.walker, startup, (), state.copy(), inner)
    text = next(parsed.values(("command",)), None)
    if text is None and parsed.has("c") and operands:
        text, *rest = operands
        operands = tuple(rest)
    if text is not None:
        state.name = operands[0] if operands else call.name
        state.parameters = operands[1:]
        return call.walker.run_text(text, state, inner)
    if operands and not parsed.has("s"):
        path, *parameters = operands
        if path in STDIN_PATHS or path.startswith("/dev/fd/"):
            text = file_text(path, state, call.frame)
            return call.walker.run_text(text, state, call.inside())
        run_script_file(call.walker, path, tuple(parameters), state, call.inside())
        return marks.LIST
    if call.frame.stdin is None:
        return None
    state.parameters = operands
    return call.walker.run_text(call.frame.stdin, state, call.inside()._replace(stdin=None))


def _without_plus(argv: tuple[str, ...]) -> tuple[str, ...]:
    """The command line without options that are switched off, such as `+x`."""
    index = 1
    while index < len(argv) and argv[index][:1] in ("-", "+") and argv[index] not in ("-", "--"):
        index += 1
    return (argv[0], *(word for word in argv[1:index] if word[:1] != "+"), *argv[index:])
