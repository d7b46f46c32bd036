"""A source's table of contents: where each of its sections begins, as its chunks are titled."""

from __future__ import annotations

from dataclasses import dataclass

from kb.store import Store


@dataclass(frozen=True, slots=True)
class Section:
    """Neighbouring chunks under one title, and the lines from its first to its last."""

    title: str
    start_line: int
    end_line: int
    bytes: int


def contents(store: Store, source_id: int) -> list[Section]:
    """The sections of a source in order, as far as it is indexed."""
    with store.access.reading() as db:
        rows = db.execute(
            "SELECT crumb, leaf, start_line, end_line, end_byte - start_byte FROM chunk"
            " WHERE source_id = ? ORDER BY start_byte",
            (source_id,),
        ).fetchall()
    sections: list[Section] = []
    for crumb, leaf, first, last, size in rows:
        title = f"{crumb} > {leaf}" if crumb else leaf
        if sections and sections[-1].title == title:
            before = sections.pop()
            first, size = before.start_line, before.bytes + size  # noqa: PLW2901
        sections.append(Section(title, first, last, size))
    return sections
