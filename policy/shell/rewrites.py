"""Files that programs change where they lie: by formatters and editors, from archives and diffs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from policy.shell import trees
from policy.wordlist import words

if TYPE_CHECKING:
    from policy.shell.call import ProgramCall

# The options that make a program write the files it reads, none where it always does; those that
# keep it from that have a `!`.
_REWRITES = {
    "sed gsed perl ruby": "i in-place", "yq tomlq xq": "i inplace in-place", "prettier": "w write",
    "eslint stylelint tslint standard xo oxlint ruff": "fix fix-only add-noqa",
    "autopep8 yapf autoflake docformatter clang-format cmake-format": "i in-place",
    "gofmt goimports gofumpt shfmt buf buildifier": "w write mode",
    "biome rome": "write apply fix apply-unsafe unsafe",
    "rubocop standardrb": "a A autocorrect auto-correct autocorrect-all x fix-layout",
    "tidy sops xmlstarlet": "m modify i in-place L inplace", "crudini": "set del merge",
    "dasel": "w write",
    "black rustfmt pyupgrade dos2unix unix2dos gdformat nixfmt alejandra add-trailing-comma "
    "sort-package-json yamlfmt": "",
    "isort": "!c", "sd": "!p",
}  # fmt: skip
_DRY = ("check", "check-only", "diff", "dry-run", "preview", "write=false")
_COPIERS = trees.INTO | {"install", "ln"}
_VERBS = ("fmt", "format", "fix", "encrypt", "decrypt", "rekey")
REWRITERS = {name: row.split() for names, row in _REWRITES.items() for name in names.split()}

# Options of archivers that extract ("" for one that always does), that only list, and that name
# the folder; how many operands come before the members.
_TAR = ("x extract get", "t list", "C directory", 0)
ARCHIVERS = {
    "tar": _TAR, "gtar": _TAR, "bsdtar": _TAR, "7z": ("", "", "o", 2),
    "zip": ("-", "sf", "b", 1), "unzip": ("", "l p t v z Z", "d", 1),
    "cpio": ("i extract", "t list", "D", 0),
}  # fmt: skip


def rewrites(call: ProgramCall) -> bool:
    """Whether a program changes the files that it is given."""
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
    """The files that an archiver packs, or True and those that it unpacks."""
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
    """What copies are named where their target is a folder, or looks like one."""
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
    diffs stand for that on stdin."""
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
    """`patch file diff`, `patch -p1 < diff`."""
    if not call.parsed.has("dry-run", "C"):
        operands = call.operands()
        folder = next(call.parsed.values(("d", "directory")), ".")
        call.report_files(*_under([folder], [*operands[:1]]), is_write=True)
        given = [*operands[1:2], *call.parsed.values(("i", "input"))]
        report_diffs(call, given, folder)
    return None
