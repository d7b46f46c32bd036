"""Redirections: files read and written, what a command finds on stdin, who sees its stdout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from policy import marks
from policy.paths import resolve
from policy.shell.frame import Frame
from policy.shell.state import State
from policy.shell.syntax import Redirection, Word
from policy.wordlist import words

if TYPE_CHECKING:
    from policy.shell.walk import Walker

_TO_TERMINAL = words("/dev/stdout /dev/stderr /dev/tty /dev/fd/1 /dev/fd/2")
_STDIN_PATHS = words("- /dev/stdin /dev/fd/0 /proc/self/fd/0")


def redirect(
    walker: Walker,
    redirections: Sequence[Redirection],
    state: State,
    frame: Frame,
    argv: tuple[str, ...],
) -> tuple[Frame, list[tuple[str, bool]]]:
    """The frame that the command runs in, and the files its stdout goes to (path, appends)."""
    targets: list[tuple[str, bool]] = []
    for item in redirections:
        operator = item.operator
        here = frame
        if frame.span is None:
            place = walker.place(item.start, item.end, frame)
            here = replace(frame, span=place.span, text=place.text)
        if operator in ("<<", "<<-", "<<<"):
            text = walker.expander.text(item.target.parts, state)
            if item.fd in ("", "0"):
                frame = replace(frame, stdin=text + "\n" if operator == "<<<" else text)
            continue
        for target in _targets(walker, item.target, state):
            frame = _redirect_to(walker, item, target, state, frame, here, targets, argv)
    return frame, targets


def _targets(walker: Walker, word: Word, state: State) -> tuple[str, ...]:
    return tuple(field for fields in walker.expander.fields(word, state) for field in fields)


def _redirect_to(
    walker: Walker,
    item: Redirection,
    target: str,
    state: State,
    frame: Frame,
    here: Frame,
    targets: list[tuple[str, bool]],
    argv: tuple[str, ...],
) -> Frame:
    operator = item.operator
    if operator in (">&", "<&") and (target.rstrip("-").isdigit() or target == "-"):
        if operator == "<&" and item.fd in ("", "0") and target not in ("-", "0"):
            return replace(frame, stdin=marks.LIST)
        is_stdout = operator == ">&" and item.fd in ("", "1") and target != "1"
        return replace(frame, is_visible=frame.is_visible and not (is_stdout and target == "-"))
    if operator in ("<", "<>", "<&"):
        walker.report_file(target, state, here, is_write=operator == "<>", argv=argv)
        if item.fd in ("", "0"):
            return replace(frame, stdin=file_text(target, state, frame))
        return frame
    if target in _TO_TERMINAL:
        return frame
    walker.report_file(target, state, here, is_write=True, argv=argv)
    if item.fd in ("", "1") or operator.startswith("&"):
        targets.append((target, operator.endswith(">>")))
        return replace(frame, is_visible=False)
    return frame


def store(output: str, targets: Sequence[tuple[str, bool]], state: State) -> str:
    """Remember what went to files; a command whose stdout is redirected prints nothing."""
    for target, appends in targets:
        path = resolve(target, state.cwd, state.links)
        before = state.files.get(path, "") if appends else ""
        state.files[path] = (before + output)[: 1 << 16]
    return "" if targets else output


def file_text(path: str, state: State, frame: Frame) -> str:
    """The text of a file, if this program made it; else unknown."""
    if path in _STDIN_PATHS:
        return frame.stdin if frame.stdin is not None else marks.LIST
    return state.files.get(resolve(path, state.cwd, state.links), marks.LIST)
