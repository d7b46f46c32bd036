"""What a program would do, in one normal form for every language: the input of the rules."""

from typing import NamedTuple

from policy import marks

Span = tuple[int, int]


class EffectPlace(NamedTuple):
    """The place in the subject from which an effect comes."""

    span: Span
    text: str  # the smallest piece of program text that has the effect
    nesting: tuple[str, ...] = ()  # the path of what wraps it (`bash -c`, `$(`, `xargs`, ...)


class Command(NamedTuple):
    """A program is started. Arguments may hold marks for what is unknown. Of a command that stands
    `in_file`, what is unknown is no sign of anything."""

    argv: tuple[str, ...]
    place: EffectPlace
    is_syntactic: bool  # reached through shell syntax alone, so that the text itself is the command
    in_file: bool = False


class FileAccess(NamedTuple):
    """A file that is read or written.

    `excluded` and `included` are gitignore's patterns; after a `:`, files of that name.
    """

    path: str  # absolute, or relative to a folder that is unknown
    is_write: bool
    argv: tuple[str, ...]
    place: EffectPlace
    is_tree: bool = False  # whether a folder is meant with all below it
    excluded: tuple[str, ...] = ()  # what is not meant of a tree
    included: tuple[str, ...] = ()  # if there are any, only files of such names are meant


class Download(NamedTuple):
    """A call of curl or wget that would print what it fetched."""

    url: str
    reaches_output: bool  # whether anyone sees what is printed
    argv: tuple[str, ...]
    place: EffectPlace


class OpaqueExec(NamedTuple):
    """Text that cannot be known before it runs would be executed; `why` says what it is."""

    why: str
    argv: tuple[str, ...]
    place: EffectPlace


class Unparsed(NamedTuple):
    """Text that would be executed and could not be read."""

    why: str
    place: EffectPlace


Effect = Command | FileAccess | Download | OpaqueExec | Unparsed


def encode(text: str) -> bytes:
    """The bytes of a program text, undecodable bytes as they were; lone surrogates do not fail."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def program_name(word: str) -> str | None:
    """The program a command word names: its last path segment; None when that is unknown."""
    name = word.rsplit("/", 1)[-1]
    return name if name and marks.is_known(name) else None
