"""Files that a program reads and writes: its operands, whole folders, files changed in place."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from base.globs import literal_name
from base.wordlist import word_set, words
from policy import marks
from policy.paths import lies_in
from policy.shell import guesses
from policy.shell.fields import mark_active
from policy.shell.options import TABLES, by_name

if TYPE_CHECKING:
    from policy.shell.call import ProgramCall

_DESCENDS = by_name(TABLES["descends"])
_EXCLUDES = ("exclude", "exclude-dir", "ignore", "ignore-dir", "x")
_GLOBS = ("glob", "iglob", "g")
_SEARCHES = word_set("grep egrep fgrep rgrep")


def find_excluded(call: ProgramCall) -> tuple[str, ...] | None:
    """Return the patterns excluded from a tree, as in `FileAccess`; None if the program does not
    descend."""
    options = _DESCENDS.get(call.name)
    if options is None or (options and not call.parsed.has(*words(options))):
        return None
    found: list[str] = []
    for name, value in call.parsed.options:
        if call.name == "rsync" and name in ("include", "include-from", "filter", "f"):
            return ()  # what is included first stays
        if name in _GLOBS and value and call.name == "rg":
            found = [*found, value[1:]] if value[0] == "!" else []  # the last that fits holds
        elif name == "exclude" and value and call.name in _SEARCHES:
            found += [] if call.parsed.has("include") else [f":{value}"]
        elif name in _EXCLUDES and value:
            before = "./" if call.name == "zip" and value[0] != "*" else ""
            found.append(f"{before}{value}" + "/" * name.endswith("-dir"))
    return tuple(filter(None, (_ignore_pattern(call, pattern) for pattern in found)))


def _ignore_pattern(call: ProgramCall, pattern: str) -> str:
    pattern = pattern.replace(marks.GLOB_STAR, "*").replace(marks.GLOB_ONE, "?")
    if "/" not in pattern.rstrip("/") or not marks.is_known(pattern):
        return pattern if marks.is_known(pattern) else ""
    cwd = call.state.cwd
    is_absolute = any(lies_in(word, cwd) or lies_in(cwd, word) for word in call.operands())
    if is_absolute or call.name in (*_SEARCHES, "diff"):
        return ""
    return f"{literal_name(cwd)}/{pattern.removeprefix('./').lstrip('/')}"


def spread(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Return zip's command line with `-x` and `-i` before each of the words that they are for."""
    option, found = "", list[str]()
    for word in argv:
        if word[:1] == "-":
            option = word if word in ("-x", "-i") else ""
        elif option and found[-1] != option:
            found.append(option)
        found.append(word)
    return tuple(found)


def find_included(call: ProgramCall) -> tuple[str, ...]:
    """Return the patterns of names that a search has: `--include=x`, `-g x`, `-t py`."""
    names = [*call.parsed.values(("include", *_GLOBS))]
    for kind in call.parsed.values(("type", "t")) if call.name == "rg" else ():
        names += [f"*.{ending}" for ending in words(_ENDINGS.get(kind, kind))]
    return tuple(name.rpartition("/")[2] for name in names if name[:1] != "!")


# rg's types that have more endings than their name.
_ENDINGS = {"yaml": "yaml yml", "config": "cfg conf config ini", "sh": "sh bash env", "all": "*"}

# Programs that put what their other operands name into the last one.
INTO = word_set("cp gcp mv rsync scp")


def find_written_trees(call: ProgramCall) -> frozenset[str] | None:
    """Return the written paths that are trees, not targets of copies."""
    operands = call.operands() if call.name in INTO else ()
    return frozenset(operands[:-1]) - {operands[-1]} if len(operands) > 1 else None


_DRY = ("check", "check-only", "diff", "dry-run", "preview", "write=false")
_COPIERS = INTO | {"install", "ln"}
_VERBS = ("fmt", "format", "fix", "encrypt", "decrypt", "rekey")
REWRITERS = {name: row.split() for name, row in by_name(TABLES["rewrites"]).items()}

ARCHIVERS = by_name(TABLES["archivers"])


def is_rewriter(call: ProgramCall) -> bool:
    """Return whether a program changes the files that it is given."""
    options = REWRITERS.get(call.name)
    operands = call.parsed.operands
    is_format = bool(operands) and operands[0][1] in _VERBS
    if options is None and not is_format:
        return call.name.endswith("awk") and "inplace" in call.parsed.values(("i", "include"))
    given = {word.lstrip("-") for word in call.argv[1:] if word[:1] == "-"}
    if options and options[0][0] != "!" and not (call.name == "ruff" and is_format):
        return call.parsed.has(*options) or not given.isdisjoint(options)
    keeps = (*_DRY, *(name[1:] for name in options or ()))
    return not call.parsed.has(*keeps) and given.isdisjoint(keeps)


def members(call: ProgramCall) -> tuple[list[str], bool]:
    """Return the files that an archiver packs, or True and those that it unpacks."""
    if call.name not in ARCHIVERS:
        return [], False
    extracts, lists, folder, skip = ARCHIVERS[call.name]
    operands = call.operands()
    if call.parsed.has(*lists.split()) or (skip == 2 and operands[:1] not in (("x",), ("e",))):
        return [], False
    names = list(operands[skip:])
    if call.name == "cpio" or call.parsed.has("@"):
        names += call.names_in("-")
    for path in call.parsed.values(words(call.program.lists)):
        names += call.names_in(path)
    folders = list(call.parsed.values(folder.split())) or ["."]
    unpacks = not extracts or call.parsed.has(*extracts.split())
    return [*_under(folders, names), *(folders if unpacks else names)], unpacks


def copies(call: ProgramCall) -> list[str]:
    """Return the names of copies if their target is a folder, or looks like one."""
    if call.name not in _COPIERS:
        return []
    operands, folders = call.operands(), [*call.parsed.values(("t", "target-directory"))]
    is_certain = bool(folders) or len(operands) > 2 or operands[-1:] in ((".",), ("..",))
    if not folders and len(operands) > 1:
        folders, operands = [operands[-1]], operands[:-1]
        is_certain = is_certain or folders[0].endswith("/")
    names = [word.rstrip("/").rsplit("/", 1)[-1] for word in operands]
    return _under(folders, [name for name in names if is_certain or "." in name])


def _under(folders: list[str], names: list[str]) -> list[str]:
    return [f"{folder}/{name}" for folder in folders or ["."] for name in names]


def report_diffs(call: ProgramCall, diffs: list[str], folder: str) -> None:
    """Report the files that diffs change, with and without the first folder of their names. No
    diffs means that on stdin."""
    heads = (
        r"(?m)^(?:---|\+\+\+|rename (?:from|to)|Index:|\*\*\* (?:(?:Add|Update|Delete) File|"
        r"Move to):)[ \t]+([^\t\n]+)"
    )
    for diff in diffs or ["-"]:
        text = call.text_of(diff)
        for path in dict.fromkeys(re.findall(heads, text)):
            names = [path, path.partition("/")[2]]
            call.report_files(*_under([folder or "."], list(filter(None, names))), is_write=True)


def run_patch(call: ProgramCall) -> str | None:
    """Run `patch file diff`, `patch -p1 < diff`."""
    if not call.parsed.has("dry-run", "C"):
        operands = call.operands()
        folder = next(call.parsed.values(("d", "directory")), ".")
        call.report_files(*_under([folder], [*operands[:1]]), is_write=True)
        given = [*operands[1:2], *call.parsed.values(("i", "input"))]
        report_diffs(call, given, folder)
    return None


def report(call: ProgramCall) -> None:
    """Report every file that the call names."""
    program, parsed = call.program, call.parsed
    operands = call.operands()
    reads = _choose(program.reads, operands)
    if program.reads == "after-pattern":
        reads = operands if parsed.has(*words(program.pattern_options)) else operands[1:]
        if not reads and _searches_folder(call):
            reads = (".",)
    is_rewritten = is_rewriter(call)
    if program.reads or is_rewritten:
        _report(call, reads if program.reads else operands, is_write=is_rewritten)
    if program.writes:
        _report(call, _choose(program.writes, operands), is_write=True)
    if parsed.options:
        _report_values(call)
    if not program.files_known:
        _report(call, guesses.likely_reads(call), is_write=False)
        _report(call, guesses.likely_writes(call), is_write=True)
    packed, unpacks = members(call)
    _report(call, packed, is_write=unpacks)
    _report(call, copies(call), is_write=True)
    if parsed.has("t", "target-directory") and program.reads == "heads":
        _report(call, operands, is_write=False)


def _report_values(call: ProgramCall) -> None:
    """Report the files that options name."""
    program, parsed = call.program, call.parsed
    if program.reads == "after-pattern":
        _report(call, map(mark_active, find_included(call)), is_write=False)
    _report(call, parsed.values(words(program.reads_options)), is_write=False)
    _report(call, parsed.values(words(program.writes_options)), is_write=True)
    for path in parsed.values(words(program.lists)):
        names = call.names_in(path) if call.name not in ARCHIVERS else []
        _report(call, [path, *names], is_write=False)
    for value in parsed.values(words(program.at_options)):
        if re.search("[@<]", value):
            _report(call, guesses.parts(value), is_write=False)


def _report(call: ProgramCall, paths: Iterable[str], *, is_write: bool) -> None:
    excluded, sources = find_excluded(call), find_written_trees(call) if is_write else None
    for path in paths:
        if path in ("-", ""):
            continue
        access = call.walk.file_access(path, is_write=is_write, argv=call.argv)
        if excluded is not None and (sources is None or path in sources):
            names = find_included(call) if call.program.reads == "after-pattern" else ()
            access = access._replace(is_tree=True, excluded=excluded, included=names)
        call.walk.report(access)


def _searches_folder(call: ProgramCall) -> bool:
    """Return whether a search that names no file is one of its current folder."""
    shows_names = call.parsed.has("files", "type-list", "version", "help", "V")
    is_piped = call.walk.stdin is not None and call.name in ("rg", "ag", "ack")
    return find_excluded(call) is not None and not shows_names and not is_piped


_CHOICES = {"all": slice(None), "first": slice(1), "rest": slice(1, None),
            "last": slice(-1, None), "heads": slice(-1)}  # fmt: skip


def _choose(which: str, operands: tuple[str, ...]) -> tuple[str, ...]:
    if len(operands) == 1 and which in ("last", "heads"):
        return operands if which == "heads" else ()
    return operands[_CHOICES[which]] if which in _CHOICES else ()
