"""Which operands and option values of a program are files, and whether it writes them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from policy.shell import guesses, rewrites, trees
from policy.shell.fields import mark_active
from policy.wordlist import words

if TYPE_CHECKING:
    from policy.shell.call import ProgramCall


def report(call: ProgramCall) -> None:
    """Report every file that the call names."""
    program, parsed = call.program, call.parsed
    operands = call.operands()
    reads = _choose(program.reads, operands)
    if program.reads == "after-pattern":
        reads = operands if parsed.has(*words(program.pattern_options)) else operands[1:]
        if not reads and _searches_folder(call):
            reads = (".",)
    is_rewritten = rewrites.rewrites(call)
    if program.reads or is_rewritten:
        _report(call, reads if program.reads else operands, is_write=is_rewritten)
    if program.writes:
        _report(call, _choose(program.writes, operands), is_write=True)
    if parsed.options:
        _report_values(call)
    if not program.files_known:
        _report(call, guesses.likely_reads(call), is_write=False)
        _report(call, guesses.likely_writes(call), is_write=True)
    packed, unpacks = rewrites.members(call)
    _report(call, packed, is_write=unpacks)
    _report(call, rewrites.copies(call), is_write=True)
    if parsed.has("t", "target-directory") and program.reads == "heads":
        _report(call, operands, is_write=False)


def _report_values(call: ProgramCall) -> None:
    """Report the files that options name."""
    program, parsed = call.program, call.parsed
    if program.reads == "after-pattern":
        _report(call, map(mark_active, trees.find_included(call)), is_write=False)
    _report(call, parsed.values(words(program.reads_options)), is_write=False)
    _report(call, parsed.values(words(program.writes_options)), is_write=True)
    for path in parsed.values(words(program.lists)):
        names = call.names_in(path) if call.name not in rewrites.ARCHIVERS else []
        _report(call, [path, *names], is_write=False)
    for value in parsed.values(words(program.at_options)):
        if re.search("[@<]", value):
            _report(call, guesses.parts(value), is_write=False)


def _report(call: ProgramCall, paths: Iterable[str], *, is_write: bool) -> None:
    excluded, sources = trees.find_excluded(call), trees.sources(call) if is_write else None
    for path in paths:
        if path in ("-", ""):
            continue
        access = call.walker.file_access(
            path, call.state, call.frame, is_write=is_write, argv=call.argv
        )
        if excluded is not None and (sources is None or path in sources):
            names = trees.find_included(call) if call.program.reads == "after-pattern" else ()
            access = access._replace(is_tree=True, excluded=excluded, included=names)
        call.walker.report(access)


def _searches_folder(call: ProgramCall) -> bool:
    """Whether a search that names no file is one of the folder it is in."""
    shows_names = call.parsed.has("files", "type-list", "version", "help", "V")
    is_piped = call.frame.stdin is not None and call.name in ("rg", "ag", "ack")
    return trees.find_excluded(call) is not None and not shows_names and not is_piped


_CHOICES = {"all": slice(None), "first": slice(1), "rest": slice(1, None),
            "last": slice(-1, None), "heads": slice(-1)}  # fmt: skip


def _choose(which: str, operands: tuple[str, ...]) -> tuple[str, ...]:
    if len(operands) == 1 and which in ("last", "heads"):
        return operands if which == "heads" else ()
    return operands[_CHOICES[which]] if which in _CHOICES else ()
