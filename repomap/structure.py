"""What one file defines, uses and asks for, from one parse of it."""

from __future__ import annotations

from kb import grammars
from kb.parsing import find_definitions, is_parsed, parse
from repomap.describing import describe_purpose
from repomap.headings import find_headings
from repomap.import_queries import find_imports
from repomap.model import LINE_CHARS, Structure
from repomap.outlining import SYMBOLS_MAX, outline
from repomap.references import count_references


def needs_parser(data: bytes, language: str | None) -> bool:
    """Tell whether a file is put to a parser, which may die of it."""
    return bool(data) and is_parsed(data, language)


def describe_structure(data: bytes, language: str | None) -> Structure:
    """Return what a file defines, uses and asks for. It never fails: what a parser cannot read has
    a note, and its purpose alone."""
    if language is None or not needs_parser(data, language):
        return _describe_words(data, language)
    try:
        root = parse(data, language)
        symbols, skeleton = outline(data, find_definitions(data, language, root))
        return Structure(
            symbols=symbols,
            references=count_references(data, language, root),
            imports=find_imports(data, language, root),
            purpose=describe_purpose(data, language),
            skeleton=skeleton,
        )
    except (TimeoutError, ValueError) as error:
        return describe_unparsed(data, language, str(error))


def describe_unparsed(data: bytes, language: str | None, note: str) -> Structure:
    """Return what is known of a file without its syntax: what it is for, and why no more."""
    return Structure(
        note=" ".join(note.split())[:LINE_CHARS], purpose=describe_purpose(data, language)
    )


def _describe_words(data: bytes, language: str | None) -> Structure:
    if data and language in grammars.QUERIES:
        return describe_unparsed(data, language, "it or a line of it is too long for a parser")
    symbols = find_headings(data)[:SYMBOLS_MAX] if language == "markdown" else ()
    return Structure(symbols=symbols, purpose=describe_purpose(data, language))
