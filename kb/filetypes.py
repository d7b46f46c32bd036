"""Names of files, languages, interpreters and media types: which kind and language each means.

The file-name tables are Pygments', read as data; those of `filetypes.json` are what they lack or
leave open.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Protocol

_TABLES = json.loads(Path(__file__).with_suffix(".json").read_bytes())
KIND_OF_LANGUAGE: dict[str, str] = _TABLES["kinds"]
"""Languages that have their own kind; every other one is code."""

_LANGUAGE_ALIASES: dict[str, str] = _TABLES["aliases"]
_SUFFIXES: dict[str, str] = _TABLES["suffixes"]
"""Suffixes that Pygments lacks, or assigns to several languages, decided by common usage."""

_MEDIA_TYPES: dict[str, tuple[str, str | None] | None] = {
    media_type: (meant[0], meant[1]) if meant else None
    for media_type, meant in _TABLES["media_types"].items()
}
"""The kind and the language; None if the text itself decides."""


class _AllLexers(Protocol):
    """`pygments.lexers.get_all_lexers`: name, aliases, file-name patterns and media types."""

    def __call__(
        self, *, plugins: bool
    ) -> Iterable[tuple[str, Sequence[str], Sequence[str], Sequence[str]]]: ...


_KINDS_ONLY = frozenset({"text", "log", "notebook"})

_VERSION = re.compile(r"[\d.]+$")


def detect_by_name(name: str) -> tuple[str, str | None] | None:
    """Return the kind and language that a file's name implies, or None."""
    path = PurePosixPath(name.replace("\\", "/"))
    suffix = path.suffix[1:].lower()
    language = _SUFFIXES.get(suffix)
    if language is None:
        exact, suffixes, _ = _pygments_tables()
        language = exact.get(path.name) or suffixes.get(suffix)
    if language is None:
        return None
    return kind_of_language(language), None if language in _KINDS_ONLY else language


def by_media_type(media_type: str) -> tuple[str, str | None] | None:
    """Return the kind and language of a media type, with or without parameters, or None."""
    bare = media_type.partition(";")[0].strip().lower()
    if bare in _MEDIA_TYPES:
        return _MEDIA_TYPES[bare]
    for ending, kind in (("+json", "json"), ("+xml", "xml"), ("+yaml", "yaml")):
        if bare.endswith(ending):
            return kind, kind
    language = _pygments_tables()[2].get(bare)
    return (kind_of_language(language), language) if language else None


def by_interpreter(program: str) -> tuple[str, str | None]:
    """Return the kind and language of a script from its shebang's program, such as `python3.12`."""
    language = canonical_language(_VERSION.sub("", program) or program)
    return kind_of_language(language), language


def canonical_language(name: str) -> str:
    """Return one name per language, whatever alias a user, a fence or a table used for it."""
    lowered = name.strip().lower()
    return _LANGUAGE_ALIASES.get(lowered, lowered)


def kind_of_language(language: str) -> str:
    return KIND_OF_LANGUAGE.get(language, "code")


@cache
def _pygments_tables() -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """Read exact file names, suffixes and media types, each with its first language."""
    from runtimes.languages import list_languages  # noqa: PLC0415 - a search needs no languages

    # By name because Pygments has no types, and late because it is not always needed.
    all_lexers: _AllLexers = import_module("pygments.lexers").get_all_lexers
    exact: dict[str, str] = {}
    suffixes: dict[str, str] = {}
    media: dict[str, str] = {}
    own = list_languages("definitions.scm")
    for _, aliases, patterns, media_types in all_lexers(plugins=False):
        if not aliases:
            continue
        language = canonical_language(next((one for one in aliases if one in own), aliases[0]))
        for pattern in patterns:
            if pattern.startswith("*.") and pattern[2:].isalnum():
                suffixes.setdefault(pattern[2:].lower(), language)
            elif "*" not in pattern and "[" not in pattern:
                exact.setdefault(pattern, language)
        for media_type in media_types:
            media.setdefault(media_type, language)
    return exact, suffixes, media
