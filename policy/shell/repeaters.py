"""Programs that run a command many times, later, or with words from elsewhere."""

from __future__ import annotations

import re
import shlex

from policy import marks
from policy.shell.ansi import unescape
from policy.shell.call import ProgramCall, index_of
from policy.shell.options import parse
from policy.shell.outputs import output_of


def _stdin_words(call: ProgramCall) -> tuple[str, ...]:
    text = _input(call)
    if text is None or not (marks.is_known(text) or marks.PATHS in text):
        return (marks.LIST,)
    return _split_words(text, call) if marks.is_known(text) else tuple(text.split())


def _input(call: ProgramCall) -> str | None:
    """What xargs reads: stdin, or the file that `-a` names."""
    path = next(call.parsed.values(("a", "arg-file")), None)
    return call.frame.stdin if path is None else call.text_of(path)


def _split_words(text: str, call: ProgramCall) -> tuple[str, ...]:
    """Input split as xargs does: at blanks with quotes heeded, or at the separator it was given."""
    separator = "\0" if call.parsed.has("0", "null") else None
    for given in call.parsed.values(("d", "delimiter")):
        separator = unescape(given)
    if separator:
        return tuple(word for word in text.split(separator) if word.strip())
    try:
        return tuple(shlex.split(text))
    except ValueError:
        return tuple(text.split())


def run_xargs(call: ProgramCall) -> str | None:
    """`xargs cmd`: the words of the input stand behind the command."""
    parsed = parse(call.argv, call.program.short, call.program.long.split(), permutes=False)
    inner = [word for _, word in parsed.operands]
    words = _stdin_words(call)
    default = "{}" if parsed.has("i", "replace") else None
    placeholder = next(parsed.values(("I", "replace")), default)
    frame = call.inside()._replace(stdin=None)
    if parsed.options:
        frame = frame._replace(is_syntactic=False)
    if placeholder is None:
        argv = (*(inner or ["echo"]), *words)
        return call.walker.command(argv, call.state.copy(), frame)
    output = ""
    for item in _lines(_input(call)):
        argv = tuple(word.replace(placeholder, item) for word in inner)
        output = call.walker.command(argv, call.state.copy(), frame)
    return output


def _lines(text: str | None) -> list[str]:
    """Lines of known input, each one word to replace a placeholder."""
    if text is None or not (marks.is_known(text) or marks.PATHS in text):
        return [marks.LIST]
    return text.removesuffix("\n").split("\n")[:64]


def run_parallel(call: ProgramCall) -> str | None:
    """`parallel cmd ::: a b`: the command with each word."""
    argv = list(call.argv[1:])
    separator = index_of(argv, ":::", "::::", ":::+")
    groups = [list[str]()]
    for word in argv[separator + 1 :] if separator is not None else ():
        groups.append([]) if word[:3] == ":::" else groups[-1].append(word)
    head = argv[:separator] if separator is not None else argv
    words = call.words(("", *head))
    for item in groups[0] if separator is not None else _lines(call.frame.stdin):
        command = " ".join(words)
        for number, group in enumerate([[item], *groups[1:]], 1):
            command = command.replace(f"{{{number}}}", group[0] if group else item)
        text = command.replace("{}", item) if "{}" in command else f"{command} {item}".strip()
        call.run_text(text)
    return None


def run_texts(call: ProgramCall) -> str | None:
    """`concurrently "cmd" "cmd"`: every operand is shell text."""
    for text in call.operands():  # `npm:x` of concurrently is a script
        call.run_text(re.sub(r"^(npm|yarn|pnpm|bun|deno):", r"\1 run ", text))
    return None


def run_find(call: ProgramCall) -> str | None:
    """`-exec cmd ;` and its kin; `{}` becomes what is known of the paths found."""
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
    """`fd pattern -x cmd`: the command with what is found."""
    index = index_of(call.argv, "-x", "--exec", "-X", "--exec-batch")
    if index is not None:
        found = _find_by_fd(call.argv[1:index])
        inner = [word.replace("{}", found) for word in call.argv[index + 1 :]]
        call.run(inner if marks.PATHS in "".join(inner) else [*inner, found])
    return None


def _find_by_fd(words: tuple[str, ...]) -> str:
    """What fd finds: paths that end in its pattern, where that is a plain name."""
    pattern = next((word for word in words if word[:1] != "-"), "")
    name = re.sub(r"\\(.)", r"\1", pattern.removeprefix("^").removesuffix("$"))
    is_plain = re.fullmatch(r"\^?(?:[\w-]|\\.)+\$", pattern) is not None
    return f"./{marks.PATHS}/{name}" if is_plain else marks.PATHS
