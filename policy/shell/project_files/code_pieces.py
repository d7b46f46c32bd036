"""Pieces of a program, some of which a target reaches."""

from __future__ import annotations

import re

_DEFINES = (
    r"""(?m)^(?:async[ ]|export[ ])*(?:(?:def|class|func|function|(?:multi)?task|file|namespace|"""
    r"""rule|(?:private_)?lane|const|let|var|val)\b[\s(:'"]*|exports\.|add_custom_target\(\s*|"""
    r"""\w+\.(?:task|registerTask|create|register(?:<\w+>)?)\(\s*['"])([\w-]+)|\bname=["']([\w-]+)"""
)
# Lines that begin something new: not inside, not closing, and not after a decorator.
_BEGINS = r"(?m)(?<![^\n])(?=[^\s)\]}#])(?!(?:end|el|except|finally|rescue|ensure)\b)"


def pieces_for(text: str, wanted: set[str], context: str = "") -> str:
    """Return the pieces that the wanted targets reach, and those that define nothing."""
    pieces: list[tuple[str, set[str]]] = []
    defining: dict[str, list[int]] = {}  # the pieces that define a name
    one = re.sub(r"(?m)^(@.*|\))\n(?=@|def |async )", r"\1\r", text)  # with its decorators
    for part in re.split(_BEGINS, one):
        piece = part.replace("\r", "\n")
        if context and (parameter := re.search(r"def \w+\(\s*(\w+)", piece)):
            piece = re.sub(rf"\b{parameter[1]}\.", context, piece)
        names = {a or b for a, b in re.findall(_DEFINES, piece)}
        for name in names:
            defining.setdefault(name, []).append(len(pieces))
        pieces.append((piece, names))
    said = re.search(r"nox\.options\.sessions\s*=(.*)", text)
    if "" in wanted and said:  # no target named: those of the file's default, else all
        wanted = set(re.findall(r"[\w-]+", said[1]))
    waiting = [at for at, (_, n) in enumerate(pieces) if not n or "" in wanted or n & wanted]
    kept: dict[int, str] = {}
    for at in waiting:
        if at not in kept:
            kept[at], names = pieces[at]
            for name in re.findall(r"[\w-]+" if names else r"(?<![\w-])[\w-]++(?=\()", kept[at]):
                waiting += defining.pop(name, ())
    return "".join(kept[at] for at in sorted(kept))
