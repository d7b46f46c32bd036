"""Programs that run a command many times, later, or with words from elsewhere."""

from __future__ import annotations

import re
import shlex

from policy import marks
from policy.shell.ansi import unescape
from policy.shell.call import Call, Runner, index_of
from policy.shell.options import parse
from policy.shell.outputs import output_of
from policy.shell.redirections import file_text
from policy.wordlist import word_set


def _stdin_words(call: Call) -> tuple[str, ...]:
    text = call.frame.stdin
    if text is None:
        return (marks.LIST,)
    if marks.is_known(text):
        return _split_words(text, call)
    if marks.PATHS in text:
        return tuple(text.split())
    return (marks.LIST,)


def _split_words(text: str, call: Call) -> tuple[str, ...]:
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


def _xargs(call: Call) -> str | None:
    parsed = parse(call.argv, call.program.short, call.program.long.split(), permutes=False)
    inner = [word for _, word in parsed.operands]
    words = _stdin_words(call)
    placeholder = next(
        parsed.values(("I", "replace")), "{}" if parsed.has("i", "replace") else None
    )
    frame = call.inside()._replace(stdin=None)
    if parsed.options:
        frame = frame._replace(is_syntactic=False)
    if placeholder is None:
        argv = (*(inner or ["echo"]), *words)
        return call.walker.command(argv, call.state.copy(), frame)
    output = ""
    for item in _lines(call.frame.stdin):
        argv = tuple(word.replace(placeholder, item) for word in inner)
        output = call.walker.command(argv, call.state.copy(), frame)
    return output


def _lines(text: str | None) -> list[str]:
    """Lines of known input, each one word to replace a placeholder."""
    if text is None or (not marks.is_known(text) and marks.PATHS not in text):
        return [marks.LIST]
    return text.removesuffix("\n").split("\n")[:64]


def _parallel(call: Call) -> str | None:
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


def _text(call: Call) -> str | None:
    """The operands joined are one command line."""
    words = call.words(call.argv)
    return call.run_text(" ".join(words)) if words else None


def _texts(call: Call) -> str | None:
    for text in call.operands():  # `npm:x` of concurrently is a script
        call.run_text(re.sub(r"^(npm|yarn|pnpm|bun|deno):", r"\1 run ", text))
    return None


def _terminal(call: Call) -> str | None:
    """`tmux new-session 'cmd'`, `tmux send-keys cmd Enter`."""
    argv = call.argv
    if ";" in argv:  # `tmux start-server \; run-shell cmd`
        _terminal(call._replace(argv=argv[argv.index(";") :]))
    operands = call.words(argv[: index_of(argv, ";")])
    if operands[:1] and operands[0] in ("source-file", "source", "load-buffer", "loadb"):
        call.report_files(*operands[1:])
    if operands and operands[0] in _TERMINAL_VERBS:
        words = [word for word in call.words(operands) if word not in ("Enter", "C-m")]
        if words:
            call.run_text(" ".join(words))
    return None


def _screen(call: Call) -> str | None:
    """`screen cmd`, and `screen -X stuff text`, which types the text."""
    if (index := index_of(call.argv[:-1], "stuff")) is not None:
        return call.run_text(unescape(call.argv[index + 1], printed=True), "screen stuff")
    return call.run(call.words(call.argv))


_TERMINAL_VERBS = word_set(
    "new-session new new-window neww split-window splitw respawn-pane respawnp respawn-window "
    "run-shell run if-shell if pipe-pane pipep send-keys send display-popup popup"
)


def _stdin_text(call: Call) -> str | None:
    if call.frame.stdin is not None:
        call.run_text(call.frame.stdin)
    return None


def _crontab(call: Call) -> str | None:
    texts = [file_text(path, call.state, call.frame) for path in call.operands()[:1]]
    for line in (texts[0] if texts else call.frame.stdin or "").splitlines():
        entry = re.match(r"\s*(?:@\w+|(?:\S+\s+){4}\S+)\s+(.*)", line)
        if entry and not line.lstrip().startswith("#"):
            call.run_text(entry[1])
    return None


def _find(call: Call) -> str | None:
    """`-exec cmd ;` and its kin; `{}` becomes what is known of the paths found."""
    argv = call.argv
    found = output_of("find", argv, None, lambda path: marks.LIST).removesuffix("\n")
    if "-delete" in argv:
        named = [path for path in found.split() if marks.is_known(path.rsplit("/", 1)[-1])]
        first = next(index for index, word in enumerate(argv) if word[:1] == "-")
        begins = [word for word in argv[1:first] if word not in (".", "..")]
        call.report_files(*named, *begins, is_write=True)
    index = 1
    while index < len(argv):
        if argv[index] not in ("-exec", "-execdir", "-ok", "-okdir"):
            index += 1
            continue
        end = index + 1
        while (
            end < len(argv)
            and argv[end] != ";"
            and not (argv[end] == "+" and argv[end - 1] == "{}")
        ):
            end += 1
        call.run([word.replace("{}", found) for word in argv[index + 1 : end]])
        index = end + 1
    return None


def _fd(call: Call) -> str | None:
    index = index_of(call.argv, "-x", "--exec", "-X", "--exec-batch")
    if index is not None:
        found = _found_by_fd(call.argv[1:index])
        inner = [word.replace("{}", found) for word in call.argv[index + 1 :]]
        call.run(inner if marks.PATHS in "".join(inner) else [*inner, found])
    return None


def _found_by_fd(words: tuple[str, ...]) -> str:
    """What fd finds: paths that end in its pattern, where that is a plain name."""
    pattern = next((word for word in words if word[:1] != "-"), "")
    name = re.sub(r"\\(.)", r"\1", pattern.removeprefix("^").removesuffix("$"))
    is_plain = re.fullmatch(r"\^?(?:[\w-]|\\.)+\$", pattern) is not None
    return f"./{marks.PATHS}/{name}" if is_plain else marks.PATHS


RUNNERS: dict[str, Runner] = {
    "xargs": _xargs,
    "parallel": _parallel,
    "text": _text,
    "texts": _texts,
    "terminal": _terminal,
    "screen": _screen,
    "stdin_text": _stdin_text,
    "crontab": _crontab,
    "find": _find,
    "fd": _fd,
}
