"""Searching what is kept: the passages that fit a question, within a budget and a time."""

from __future__ import annotations

from ctxmode.errors import UsageError
from ctxmode.insight.model import Asked, Data
from ctxmode.insight.reading import Reader
from ctxmode.operations.searching import SearchRequest, search
from ctxmode.render.passages import STALE
from kb import Store

HITS = 10


def build(reader: Reader, asked: Asked) -> Data:
    """Build the form, and what was found."""
    query = asked.text("q").strip()
    data: Data = {"query": query, "hits": [], "state": "", "problem": "", "corrections": []}
    if not query:
        return data
    request = SearchRequest((query,), limit=HITS)

    def look(store: Store) -> Data:
        try:
            result = search(store, request).queries[0]
        except UsageError as error:
            return {"problem": str(error)}
        return {
            "state": str(result.state),
            "omitted": result.omitted,
            "corrections": [{"typed": one.typed, "used": one.used} for one in result.corrections],
            "hits": [
                {
                    "source_id": hit.source_id,
                    "source": hit.source,
                    "title": hit.title,
                    "text": hit.text,
                    "first_line": hit.start_line,
                    "last_line": hit.end_line,
                    "stale": STALE.get(hit.stale, ""),
                }
                for hit in result.hits
            ],
        }

    return data | (reader.store(look) or {"state": "nothing"})
