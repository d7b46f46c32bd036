"""Programs that start commands: as they stand, changed, many times, later."""

from __future__ import annotations

import re

from policy import marks
from policy.shell.builtins import consider_variable
from policy.shell.call import ProgramCall, index_of
from policy.shell.file_texts import STDIN_PATHS, file_text, run_script_file
from policy.shell.options import QUERY_OPTIONS, parse
from policy.shell.outputs import output_of, quote
from policy.shell.syntax import unescape


def _stdin_words(call: ProgramCall) -> tuple[str, ...]:
    text = _input(call)
    if text is None or not (marks.is_known(text) or marks.PATHS in text):
        return (marks.LIST,)
    return _split_words(text, call) if marks.is_known(text) else tuple(text.split())


def _input(call: ProgramCall) -> str | None:
    """Return xargs' input: stdin, or the file that `-a` names."""
    path = next(call.parsed.values(("a", "arg-file")), None)
    return call.walk.stdin if path is None else call.text_of(path)


def _split_words(text: str, call: ProgramCall) -> tuple[str, ...]:
    """Split input as xargs does: at blanks with quotes heeded, or at the given separator."""
    separator = "\0" if call.parsed.has("0", "null") else None
    for given in call.parsed.values(("d", "delimiter")):
        separator = unescape(given)
    if separator:
        return tuple(word for word in text.split(separator) if word.strip())
    try:
        import shlex  # noqa: PLC0415 - few commands are read so

        return tuple(shlex.split(text))
    except ValueError:
        return tuple(text.split())


def run_xargs(call: ProgramCall) -> str | None:
    """Run `xargs cmd`: the words of the input follow the command."""
    parsed = parse(call.argv, call.program.short, call.program.long.split(), permutes=False)
    inner = [word for _, word in parsed.operands]
    words = _stdin_words(call)
    default = "{}" if parsed.has("i", "replace") else None
    placeholder = next(parsed.values(("I", "replace")), default)
    inside = call.inside()._replace(stdin=None)
    if parsed.options:
        inside = inside._replace(is_syntactic=False)
    if placeholder is None:
        argv = (*(inner or ["echo"]), *words)
        return inside.command(argv)
    output = ""
    for item in _lines(_input(call)):
        argv = tuple(word.replace(placeholder, item) for word in inner)
        output = inside.apart().command(argv)
    return output


def _lines(text: str | None) -> list[str]:
    """Return lines of known input, each one word to replace a placeholder."""
    if text is None or not (marks.is_known(text) or marks.PATHS in text):
        return [marks.LIST]
    return text.removesuffix("\n").split("\n")[:64]


def run_parallel(call: ProgramCall) -> str | None:
    """Run `parallel cmd ::: a b`: the command with each word."""
    argv = list(call.argv[1:])
    separator = index_of(argv, ":::", "::::", ":::+")
    groups = [list[str]()]
    for word in argv[separator + 1 :] if separator is not None else ():
        groups.append([]) if word[:3] == ":::" else groups[-1].append(word)
    head = argv[:separator] if separator is not None else argv
    words = call.words(("", *head))
    for item in groups[0] if separator is not None else _lines(call.walk.stdin):
        command = " ".join(words)
        for number, group in enumerate([[item], *groups[1:]], 1):
            command = command.replace(f"{{{number}}}", group[0] if group else item)
        text = command.replace("{}", item) if "{}" in command else f"{command} {item}".strip()
        call.run_text(text)
    return None


def run_texts(call: ProgramCall) -> str | None:
    """Run `concurrently "cmd" "cmd"`: every operand is shell text."""
    for text in call.operands():  # `npm:x` of concurrently is a script
        call.run_text(re.sub(r"^(npm|yarn|pnpm|bun|deno):", r"\1 run ", text))
    return None


def run_find(call: ProgramCall) -> str | None:
    """Run `-exec cmd ;` and similar; `{}` becomes the known parts of the paths found."""
    argv = call.argv
    found = output_of("find", argv, None, lambda path: marks.LIST).removesuffix("\n")
    if "-delete" in argv:
        named = [path for path in found.split() if marks.is_known(path.rsplit("/", 1)[-1])]
        first = next(index for index, word in enumerate(argv) if word[:1] == "-")
        begins = [word for word in argv[1:first] if word not in (".", "..")]
        call.report_files(*named, *begins, is_write=True)
    for index, word in enumerate(argv):
        if word in ("-exec", "-execdir", "-ok", "-okdir"):
            ends = (
                at for at in range(index + 1, len(argv))
                if argv[at] == ";" or argv[at - 1 : at + 1] == ("{}", "+")
            )  # fmt: skip
            inner = argv[index + 1 : next(ends, len(argv))]
            call.run([word.replace("{}", found) for word in inner])
    return None


def run_fd(call: ProgramCall) -> str | None:
    """Run `fd pattern -x cmd`: the command with the found paths."""
    index = index_of(call.argv, "-x", "--exec", "-X", "--exec-batch")
    if index is not None:
        found = _find_by_fd(call.argv[1:index])
        inner = [word.replace("{}", found) for word in call.argv[index + 1 :]]
        call.run(inner if marks.PATHS in "".join(inner) else [*inner, found])
    return None


def _find_by_fd(words: tuple[str, ...]) -> str:
    """Return fd's output: paths that end in its pattern, if that is a plain name."""
    pattern = next((word for word in words if word[:1] != "-"), "")
    name = re.sub(r"\\(.)", r"\1", pattern.removeprefix("^").removesuffix("$"))
    is_plain = re.fullmatch(r"\^?(?:[\w-]|\\.)+\$", pattern) is not None
    return f"./{marks.PATHS}/{name}" if is_plain else marks.PATHS


def run_argv(call: ProgramCall) -> str | None:
    """Run `nice cmd`, `timeout 5 cmd`: the operands are a command."""
    inner = call.operands()[call.program.skip :]
    if call.parsed.has(*QUERY_OPTIONS.get(call.name, frozenset())):
        return None
    if len(inner) > 1 and "c" in call.program.short and re.match(r"-c$|--co?m?m?a?", inner[0]):
        return call.run_text(inner[1])
    if call.program.skip and inner[:1] and inner[0][:1] == "-":
        inner = tuple(call.words((call.name, *inner)))  # options after the first operand
    if len(inner) == 1 and " " in inner[0]:
        return call.run_text(inner[0])
    return call.run(inner) if inner else None


def run_env(call: ProgramCall) -> str | None:
    """Run variables first, then a command; `env -S` splits one string into both."""
    for folder in call.parsed.values(("chdir", "C" if call.name == "env" else "D")):
        call = call.inside_folder(folder)
    inner = call.inside()
    state = inner.state
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
    while words and re.match(r"[A-Za-z_]\w*=", words[0]):
        name, _, value = words.pop(0).partition("=")
        state.assign(name, (value,))
        state.export(name)
        consider_variable(inner, name)
    if words:
        return inner.command(tuple(words))
    if call.parsed.has("s", "i", "login") and call.name == "sudo" and call.walk.stdin:
        call.run_text(call.walk.stdin, "sudo -s")
    return None


def run_remote(call: ProgramCall) -> str | None:
    """Run `ssh host words`: the words are joined and run by the remote shell."""
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
    inner = call.inside()._replace(
        state=call.state_elsewhere(), is_visible=False, is_syntactic=False
    )
    if words:
        return inner.run_text(" ".join(words))
    if call.walk.stdin is not None and not parsed.has("N"):
        inner._replace(stdin=None).run_text(call.walk.stdin)
    return None


def run_shell(call: ProgramCall) -> str | None:
    """Run `sh -c text name args`, `sh script args`, `sh -s args < text`."""
    argv = _without_plus(call.argv)
    parsed = parse(argv, "Oo", ("rcfile", "init-file", "command"), permutes=False)
    operands = tuple(word for _, word in parsed.operands)
    if parsed.has("n"):  # the syntax is checked, and nothing runs
        return ""
    inner = call.inside(f"{call.name} -c")._replace(is_syntactic=False)
    state = inner.state
    state.functions, state.aliases = dict(call.state.functions), {}
    for startup in parsed.values(("rcfile", "init-file")):
        run_script_file(inner.apart(), startup, ())
    text = next(parsed.values(("command",)), None)
    if text is None and parsed.has("c") and operands:
        text, *rest = operands
        operands = tuple(rest)
    if text is not None:
        state.name = operands[0] if operands else call.name
        state.parameters = operands[1:]
        return inner.run_text(text)
    if operands and not parsed.has("s"):
        path, *parameters = operands
        if path in STDIN_PATHS or path.startswith("/dev/fd/"):
            text = file_text(call.walk, path)
            return call.inside()._replace(state=state).run_text(text)
        run_script_file(call.inside()._replace(state=state), path, tuple(parameters))
        return marks.LIST
    if call.walk.stdin is None:
        return None
    state.parameters = operands
    return call.inside()._replace(state=state, stdin=None).run_text(call.walk.stdin)


def _without_plus(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Return the command line without options that are switched off, such as `+x`."""
    index = 1
    while index < len(argv) and argv[index][:1] in ("-", "+") and argv[index] not in ("-", "--"):
        index += 1
    return (argv[0], *(word for word in argv[1:index] if word[:1] != "+"), *argv[index:])
