"""Files that programs change where they lie: by formatters and editors, from archives and diffs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from policy import marks
from policy.shell.options import parse
from policy.shell.redirections import STDIN_PATHS, file_text
from policy.shell.script_files import text_on_disk
from policy.wordlist import word_set

if TYPE_CHECKING:
    from policy.shell.call import Call, Runner

# The options that make a program write the files it reads, none where it always does; those that
# keep it from that have a `!`.
_REWRITES = {
    "sed gsed perl ruby": "i in-place",
    "yq tomlq xq": "i inplace in-place",
    "prettier": "w write",
    "eslint stylelint tslint standard xo oxlint ruff": "fix fix-only add-noqa",
    "autopep8 yapf autoflake docformatter clang-format cmake-format": "i in-place",
    "gofmt goimports gofumpt shfmt buf buildifier": "w write mode",
    "biome rome": "write apply fix apply-unsafe unsafe",
    "rubocop standardrb": "a A autocorrect auto-correct autocorrect-all x fix-layout",
    "tidy": "m modify",
    "crudini": "set del merge",
    "dasel": "w write",
    "black rustfmt pyupgrade dos2unix unix2dos gdformat nixfmt alejandra add-trailing-comma": "",
    "isort": "!c",
    "sd": "!p",
}
_DRY = ("check", "check-only", "diff", "dry-run", "preview", "write=false", "l", "d")
_FORMATS = word_set("fmt format fix")
_OPTIONS = {name: row.split() for names, row in _REWRITES.items() for name in names.split()}


def is_rewriter(name: str) -> bool:
    """Whether a program of that name changes files that it is given."""
    return name in _OPTIONS


def rewrites(call: Call) -> bool:
    """Whether a program changes the files that it is given."""
    given = {name for name, _ in call.parsed.options}
    given |= {word.lstrip("-") for word in call.argv[1:] if word[0:1] == "-"}
    if call.name == "awk" or call.name.endswith("awk"):
        return "inplace" in list(call.parsed.values(("i", "include")))
    options = _OPTIONS.get(call.name)
    if options is None or (call.name == "ruff" and not given.intersection(options)):
        return not _FORMATS.isdisjoint(call.operands()[:1]) and given.isdisjoint(_DRY)
    wanted = {name for name in options if name[0] != "!"}
    if wanted:
        return not given.isdisjoint(wanted)
    return given.isdisjoint(_DRY) and given.isdisjoint(name[1:] for name in options)


def changed(call: Call) -> Iterator[str]:
    """The files that a program is certain to name and write beside those that its row says."""
    operands = call.operands()
    if rewrites(call):
        yield from operands
    if call.name in _TARGETS:
        yield from _copied(call, operands)
    elif call.name in ("tar", "gtar", "bsdtar"):
        if call.parsed.has("x", "extract", "get"):
            folders = list(call.parsed.values(("C", "directory")))
            yield from [*folders, *_under(folders, operands)]
    elif call.name == "unzip" and not call.parsed.has("l", "p", "t", "v", "z", "Z"):
        folders = list(call.parsed.values(("d",)))
        yield from [*folders, *_under(folders, operands[1:])]
    elif call.name in ("7z", "7za", "7zz") and operands[:1] in (("x",), ("e",)):
        folders = [word[2:] for word in call.argv if word[:2] == "-o"]
        yield from [*folders, *_under(folders, operands[2:])]
    elif call.name == "cpio" and call.parsed.has("i", "extract"):
        yield from operands


def packed(call: Call) -> Iterator[str]:
    """The files that tar and cpio put into an archive."""
    if call.name == "cpio":
        yield from (call.frame.stdin or "").split() if call.parsed.has("o", "create", "p") else ()
    elif call.name in ("tar", "gtar", "bsdtar") and not call.parsed.has("x", "extract", "t", "list"):
        yield from call.operands()
        yield from _under(call.parsed.values(("C", "directory")), call.operands())
        if "-" in call.parsed.values(("T", "files-from")):
            yield from (call.frame.stdin or "").split()
    elif call.name in _TARGETS and call.parsed.has("t", "target-directory"):
        yield from call.operands()


_TARGETS = word_set("cp gcp mv install ln rsync scp")


def _copied(call: Call, operands: tuple[str, ...]) -> Iterator[str]:
    """What a copy is named where its target is a folder."""
    folders = [*call.parsed.values(("t", "target-directory"))]
    if not folders and len(operands) > 1:
        folders, operands = [operands[-1]], operands[:-1]
    yield from _under(folders, [word.rstrip("/").rsplit("/", 1)[-1] for word in operands])


def _under(folders: Iterable[str], names: Iterable[str]) -> Iterator[str]:
    folders = list(folders)
    yield from (f"{folder}/{name}" for folder in folders or ["."] for name in names)


def report_diff(call: Call, text: str, *, folder: str = "") -> None:
    """Report the files that a diff changes, with and without the first folder of their names."""
    heads = r"(?m)^(?:---|\+\+\+|rename (?:from|to)|Index:)[ \t]+([^\t\n]+)"
    for path in dict.fromkeys(re.findall(heads, text)):
        for name in {path, path.partition("/")[2] or path}:
            call.walker.report_file(
                f"{folder}/{name}" if folder else name, call.state, call.frame, is_write=True,
                argv=call.argv,
            )  # fmt: skip


def diff_text(call: Call, path: str) -> str:
    """The text of a diff, as far as it is known; no path for that on stdin."""
    text = file_text(path or "-", call.state, call.frame)
    if text == marks.LIST and path and path not in STDIN_PATHS:
        return text_on_disk(call.walker, path, call.state) or ""
    return text


def _patch(call: Call) -> str | None:
    """`patch file diff`, `patch -p1 < diff`."""
    if call.parsed.has("dry-run", "C"):
        return None
    operands = call.operands()
    folder = next(call.parsed.values(("d", "directory")), "")
    for path in operands[:1]:
        call.walker.report_file(path, call.state, call.frame, is_write=True, argv=call.argv)
    given = [*operands[1:2], *call.parsed.values(("i", "input"))]
    report_diff(call, diff_text(call, given[0] if given else ""), folder=folder)
    return None


def apply_diff(call: Call, argv: tuple[str, ...]) -> None:
    """`git apply`, `git am`: the diffs of the operands, or that on stdin."""
    parsed = parse(argv, "pC", ("directory", "exclude", "include", "whitespace"))
    if parsed.has("check", "stat", "numstat", "summary", "cached"):
        return
    folder = next(parsed.values(("directory",)), "")
    for path in [word for _, word in parsed.operands] or [""]:
        report_diff(call, diff_text(call, path), folder=folder)


RUNNERS: dict[str, Runner] = {"patch": _patch}
