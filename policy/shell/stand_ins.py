"""Commands that stand for others: aliases, and words that are not known before they run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from policy import marks
from policy.effects import program_name
from policy.shell import builtins, outputs
from policy.shell.syntax import Literal, Part, Substitution, Word
from policy.wordlist import word_set

if TYPE_CHECKING:
    from policy.shell.frame import Frame
    from policy.shell.state import ShellState
    from policy.shell.walk import Walker

# Commands that show nothing of what a substitution gives them as a word: whether they keep it.
_HIDES = dict.fromkeys(word_set("eval source . sh bash dash zsh ksh [ test"), False)
_HIDES |= dict.fromkeys(builtins.DECLARES | {""}, True)


def frame_of_words(words: Sequence[Word], frame: Frame) -> Frame:
    """The frame of the substitutions in a command's words: who sees what they print."""
    first = words[0].parts[:1] if words else ()
    keeps = _HIDES.get(getattr(first[0], "text", "?") if first else "")
    return frame if keeps is None else frame._replace(is_visible=False, is_captured=keeps)


def report_printed(walker: Walker, word: Word, argv: tuple[str, ...], frame: Frame) -> None:
    """`$(cat f) x`: what runs is what another command prints, or is in an unknown text."""
    is_unknown = marks.is_only_hole(argv[0]) and marks.PATHS not in argv[0]
    if is_unknown and any(map(_is_printed, word.parts)):
        walker.report_opaque("a command that is not known before it is printed", argv, frame)


def _is_printed(part: Part) -> bool:
    is_text = isinstance(part, Literal) and marks.has_hole(part.text)
    return is_text or isinstance(part, Substitution)


def run_behind_unknown(
    walker: Walker, argv: tuple[str, ...], state: ShellState, frame: Frame
) -> None:
    """`$SUDO rm x`: an unknown program may run what follows it, or be nothing at all."""
    words = enumerate(argv)
    first = next((at for at, word in words if at and word[:1] != "-" and program_name(word)), 0)
    if first:
        inner = frame.inside("unknown")._replace(is_syntactic=False)
        walker.command(argv[first:], state.copy(), inner)


def run_alias(walker: Walker, argv: tuple[str, ...], state: ShellState, frame: Frame) -> None:
    """Run what an alias of this program stands for."""
    if f"alias {argv[0]}" in frame.calls:
        return
    alias = state.aliases[argv[0]]
    if (len(alias) - len(alias.rstrip("\\"))) % 2:
        walker.report_opaque("an alias that joins what follows it", argv, frame)
    text = " ".join([alias, *map(outputs.quote, argv[1:])])
    inner = frame.inside("alias")
    walker.run_text(text, state, inner._replace(calls=(*inner.calls, f"alias {argv[0]}")))
