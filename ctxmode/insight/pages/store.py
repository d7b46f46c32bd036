"""What is kept of outputs, files and pages: how much, beside its quota, and each source."""

from __future__ import annotations

from dataclasses import asdict

from ctxmode.insight.model import ROWS, Asked, Data, part
from ctxmode.insight.reading import Reader
from ctxmode.operations.quotas import read_holdings
from ctxmode.render.passages import STALE
from kb import Source, Store
from kb.errors import UnknownSourceError

TEXT_BYTES_MAX = 64 * 1024


def build_list(reader: Reader, asked: Asked) -> Data:
    """Build the list of sources, the latest first."""
    at = asked.number("at")

    def look(store: Store) -> tuple[int, list[Source]]:
        return store.count_sources(), store.list_sources(at, ROWS + 1)

    total, rows = reader.store(look) or (0, [])
    holdings = reader.ask(lambda: read_holdings(reader.config))
    return part("/store", asked, [_build_row(row) for row in rows]) | {
        "total": total,
        "on_disk": None if holdings is None else holdings.to_json(),
    }


def build_one(reader: Reader, asked: Asked) -> Data:
    """Build the page of one source with the beginning of its text; without `source` where there is
    none."""
    number = asked.number("id")

    def look(store: Store) -> Data:
        try:
            source = store.source(number)
        except UnknownSourceError:
            return {}
        text = store.text(number, 0, min(source.bytes_total, TEXT_BYTES_MAX))
        states = store.files_of([number]).values()
        return {
            "stale": "".join(STALE.get(state.find_stale(), "") for state in states),
            "source": _build_row(source),
            "text": text.decode("utf-8", "replace"),
            "is_cut": source.bytes_total > TEXT_BYTES_MAX,
            "most": TEXT_BYTES_MAX,
        }

    return {"wanted": number} | (reader.store(look) or {})


def _build_row(source: Source) -> Data:
    return asdict(source)
