"""Outputs of programs, if they follow from arguments and input."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

from base.globs import CLASSES
from base.wordlist import word_set, words
from policy import marks
from policy.shell.fields import mark_active
from policy.shell.options import TABLES, by_name, parse
from policy.shell.syntax import unescape

_AS_SOURCE = str.maketrans(
    {marks.GLOB_STAR: "*", marks.GLOB_ONE: "?"}
    | dict.fromkeys((marks.GLOB_SET, marks.GLOB_ANY, marks.WORD), marks.LIST)
)
_FORMAT = r"%(?:%|[-+ #0]*(\*|\d+)?(?:\.(?:\*|\d+))?(\([^)]*\)T|[a-zA-Z]))"


def executable(text: str) -> str:
    """Return a text as a shell reads it as program text: patterns are characters again."""
    return text.translate(_AS_SOURCE)


def quote(word: str) -> str:
    """Quote a word for a shell; unknown parts stay unknown."""
    import shlex  # noqa: PLC0415 - only for aliases

    return shlex.quote(word) if marks.is_known(word) else word


def output_of(name: str, argv: tuple[str, ...], stdin: str | None, read: Reader) -> str:
    """Return the text a program prints, unknown if nothing is known about it. `read` returns the
    text of a file the program itself made, or a hole."""
    verbs = _SETS_UP_SHELLS.get(name)
    if verbs == "" or (verbs and not set(words(verbs)).isdisjoint(argv[1:3])):
        return ""
    producer = _PRODUCERS.get(name)
    if producer is not None:
        return producer(argv)
    if name in _FETCHERS:
        return marks.FETCHED
    if filtered := _FILTERS.get(name):
        return filtered(argv, marks.LIST if stdin is None else stdin, read)
    is_made = name.endswith("awk") and "BEGIN" in "".join(argv)
    return marks.taint(stdin or "") or (marks.DECODED if is_made else marks.LIST)


Reader = Callable[[str], str]

_SETS_UP_SHELLS = by_name(TABLES["sets_up_shells"])
_FETCHERS = word_set(TABLES["sets"]["fetchers"])


def _echo(argv: tuple[str, ...]) -> str:
    words = list(argv[1:])
    flags = ""
    while words and re.fullmatch(r"-[neE]+", words[0]):
        flags += words.pop(0)[1:]
    text = " ".join(words)
    if "e" in flags:
        text = unescape(text, printed=True)
    return text if "n" in flags else text + "\n"


def _printf(argv: tuple[str, ...]) -> str:
    words = list(argv[1:])
    if words[:1] == ["-v"]:
        return ""
    if words[:1] == ["--"]:
        words.pop(0)
    return format_printf(words[0], words[1:]) if words else ""


def format_printf(template: str, words: list[str]) -> str:
    """Return the output of `printf`; the template repeats until the words are used up."""
    template = unescape(template)
    pending, pieces = list(words), list[str]()
    has_fields = any(match.group() != "%%" for match in re.finditer(_FORMAT, template))
    while True:
        pieces.append(re.sub(_FORMAT, lambda match: _conversion(match, pending), template))
        if not pending or not has_fields or len(pieces) > 1000:
            return "".join(pieces)


def _conversion(match: re.Match[str], pending: list[str]) -> str:
    if match.group() == "%%":
        return "%"
    if match[1] == "*" and pending:
        pending.pop(0)
    word = pending.pop(0) if pending else ""
    kind = match[2][-1]
    if kind in "xXo" and word.isdigit():
        return format(int(word), kind)
    precision = re.search(r"\.(\d+)", match.group())
    if kind == "s" and precision:
        return word[: int(precision[1])]
    convert = _CONVERSIONS.get(kind)
    return convert(word) if convert is not None else marks.WORD


_CONVERSIONS: dict[str, Callable[[str], str]] = {
    **dict.fromkeys("sdiu", str), "q": quote, "c": lambda word: word[:1],
    "b": lambda word: unescape(word, printed=True),
}  # fmt: skip


def _find(argv: tuple[str, ...]) -> str:
    """Return paths under the first start folder, with their known folders and name."""
    start = argv[1] if len(argv) > 1 and not argv[1].startswith(("-", "(", "!")) else "."
    tests = [pair for pair, before in zip(pairwise(argv), ("", *argv), strict=False)
             if before not in ("!", "-not")]  # fmt: skip
    names = [text for test, text in tests if test in ("-name", "-path", "-iname")]
    base = mark_active(names[-1]).rsplit("/", 1)[-1] if names else ""
    base = base if marks.fill(base, "") else ""
    paths = (_folders(text) for test, text in tests if test in ("-path", "-wholename", "-ipath"))
    inside = next(filter(None, paths), "")
    known = f"/{inside}/{base or marks.PATHS}" if inside else f"/{base}" if base else ""
    return f"{start.rstrip('/')}/{marks.PATHS}{known}\n"


def _folders(pattern: str) -> str:
    """Return the folders that `-path '*/folder/*'` demands."""
    folders = [piece for piece in pattern.strip("*/").split("/") if piece not in ("", "*", ".")]
    known = "/".join(folders)
    return known if pattern.endswith("/*") and not re.search(r"[*?[]", known) else ""


def _operands(argv: tuple[str, ...]) -> list[str]:
    return [word for word in argv[1:] if word[:1] != "-"]


def _list(argv: tuple[str, ...]) -> str:
    """Return the output of `ls`: the files it was given, and the content of folders among them."""
    return "\n".join([*_operands(argv), marks.PATHS])


def _path_of(argv: tuple[str, ...]) -> str:
    """Return the path of `realpath path` and similar, if there is one."""
    operands = _operands(argv)
    return operands[0] + "\n" if len(operands) == 1 else marks.PATHS


def _folder_of(argv: tuple[str, ...]) -> str:
    operands = _operands(argv)
    if len(operands) != 1 or not marks.is_known(operands[0]):
        return marks.PATHS
    return (operands[0].rstrip("/").rpartition("/")[0] or ".") + "\n"


def _name_of(argv: tuple[str, ...]) -> str:
    operands = _operands(argv)
    known = bool(operands) and len(operands) <= 2 and all(map(marks.is_known, operands))
    if not known or len(argv) > len(operands) + 1:
        return marks.PATHS
    name = operands[0].rstrip("/").rpartition("/")[2]
    return (name.removesuffix(operands[1]) if len(operands) > 1 else name) + "\n"


def _grep(argv: tuple[str, ...], stdin: str, read: Reader) -> str:
    """Return file names for `grep -rl pattern folder`; otherwise lines of the input."""
    places = _operands(argv)[1:]
    if not places or not parse(argv, "efmABCdD").has("l", "L", "files-with-matches"):
        return stdin
    files = [at for at in places if "." in at.strip("./")]
    return "".join(f"{path}\n" for path in (*files, *(f"{at}/{marks.PATHS}" for at in places)))


def _git(argv: tuple[str, ...]) -> str:
    lists = {"ls-files", "diff", "status", "ls-tree", "grep", "branch", "tag", "rev-parse", "stash"}
    return marks.PATHS if lists.intersection(argv[1:3]) else marks.LIST


def _which(argv: tuple[str, ...]) -> str:
    """Return the output of `which name`: a path that ends in the name, or the name."""
    return "\n".join(_operands(argv))


_PRODUCERS: dict[str, Callable[[tuple[str, ...]], str]] = {
    **dict.fromkeys(words(TABLES["sets"]["silent"]), lambda argv: ""),
    **dict.fromkeys(word_set("fd seq nproc mktemp pwd date"), lambda argv: marks.PATHS),
    "echo": _echo, "printf": _printf, "find": _find, "ls": _list, "git": _git,
    "which": _which, "type": _which, "command": _which, "dirname": _folder_of,
    "basename": _name_of, "realpath": _path_of, "readlink": _path_of,
}  # fmt: skip


def _cat(argv: tuple[str, ...], stdin: str, read: Reader) -> str:
    operands = [word for word in argv[1:] if not word.startswith("-") or word == "-"]
    return "".join(stdin if word == "-" else read(word) for word in operands) if operands else stdin


def _input(argv: tuple[str, ...], stdin: str, read: Reader, values: str = "") -> str:
    operands = parse(argv, values).operands
    return read(operands[0][1]) if operands and operands[0][1] != "-" else stdin


def _decode(text: str, decode: Callable[[str], bytes]) -> str:
    if not marks.is_known(text):
        return marks.FETCHED if marks.FETCHED in text else marks.DECODED
    try:
        return marks.scrub(decode(text).decode("utf-8", "replace")) + marks.DECODED_KNOWN
    except ValueError:
        return marks.DECODED


def _base(argv: tuple[str, ...], stdin: str, read: Reader) -> str:
    """Return the output of `base64 -d`, `base32 -d`."""
    import base64  # noqa: PLC0415 - few programs decode

    if not parse(argv, "w").has("d", "D", "decode", "i"):
        return marks.LIST
    decode, padding = (base64.b32decode, "") if argv[0].endswith("32") else (base64.b64decode, "==")
    text = _input(argv, stdin, read, "w")
    return _decode(text, lambda data: decode("".join(data.split()) + padding))


def _xxd(argv: tuple[str, ...], stdin: str, read: Reader) -> str:
    parsed = parse(argv, "clsgo")
    if not (parsed.has("r") and parsed.has("p")):
        return marks.DECODED
    text = _input(argv, stdin, read, "clsgo")
    return _decode(text, lambda data: bytes.fromhex("".join(data.split())))


def _rev(argv: tuple[str, ...], stdin: str, read: Reader) -> str:
    text = _input(argv, stdin, read)
    if not marks.is_known(text):
        return marks.DECODED
    return "\n".join(line[::-1] for line in text.split("\n"))


def _change(text: str) -> str:
    """Return a changed, partly known text: suspicious only if fetched or decoded."""
    if marks.FETCHED in text:
        return marks.FETCHED
    if marks.DECODED in text or not marks.is_only_hole(text):
        return marks.DECODED
    return marks.PATHS if marks.PATHS in text and marks.LIST not in text else marks.LIST


def _tr(argv: tuple[str, ...], stdin: str, read: Reader) -> str:
    words = _operands(argv)
    flags = "".join(word for word in argv[1:] if word.startswith("-"))
    if not marks.is_known(stdin + "".join(words)):
        return _change(stdin)
    sets = [_tr_set(word) for word in words]
    if "d" in flags and sets:
        return "".join(char for char in stdin if char not in sets[0])
    if len(sets) == 2 and sets[1] and "c" not in flags.lower():
        longest = sets[1] + sets[1][-1] * (len(sets[0]) - len(sets[1]))
        return stdin.translate({ord(old): new for old, new in zip(sets[0], longest, strict=False)})
    return marks.DECODED


def _tr_set(text: str) -> str:
    text = re.sub(r"\[:(\w+):\]", lambda match: CLASSES.get(match[1], ""), text)
    text = unescape(text)
    return re.sub(
        r"(.)-(.)",
        lambda match: "".join(map(chr, range(ord(match[1]), ord(match[2]) + 1))),
        text,
        flags=re.DOTALL,
    )


def _run_sed(argv: tuple[str, ...], stdin: str, read: Reader) -> str:
    """Return the result of `s/old/new/` on known input; anything else is a decoder."""
    parsed = parse(argv, "efl")
    scripts = list(parsed.values("e")) or [word for _, word in parsed.operands[:1]]
    text = stdin
    for script in scripts:
        simple = re.fullmatch(r"s(.)([\w -]*)\1([\w -]*)\1(g?)", script)
        if simple is None or not marks.is_known(text):
            return _change(text) if text else text
        count = -1 if simple[4] else 1
        text = "\n".join(line.replace(simple[2], simple[3], count) for line in text.split("\n"))
    return text


def _cut(argv: tuple[str, ...], stdin: str, read: Reader) -> str:
    """Return columns of known input: `-c2-5`, `-d, -f1`."""
    if not marks.is_known(stdin):
        return _change(stdin)
    parsed = parse(argv, "bcdf", ("characters", "delimiter", "fields", "bytes"))
    delimiter = next(parsed.values(("d", "delimiter")), "\t")
    columns = next(parsed.values(("c", "b", "characters", "bytes")), None)
    fields = next(parsed.values(("f", "fields")), None)
    wanted = re.fullmatch(r"(\d*)(-?)(\d*)", columns or fields or "?")
    if wanted is None:
        return marks.DECODED
    first = int(wanted[1] or 1) - 1
    last = int(wanted[3]) if wanted[3] else None if wanted[2] else first + 1
    between = "" if columns else delimiter
    lines = stdin.removesuffix("\n").split("\n")
    pieces = [(line.split(between) if between else list(line))[first:last] for line in lines]
    return "\n".join(map(between.join, pieces)) + "\n"


_FILTERS: dict[str, Callable[[tuple[str, ...], str, Reader], str]] = {
    **dict.fromkeys(word_set("cat tac"), _cat),
    **dict.fromkeys(word_set("tee head tail sort uniq"), lambda argv, stdin, read: stdin),
    **dict.fromkeys(word_set("grep egrep fgrep rg"), _grep),
    **dict.fromkeys(word_set("base64 base32"), _base),
    "xxd": _xxd, "rev": _rev, "tr": _tr, "sed": _run_sed, "cut": _cut,
}  # fmt: skip
