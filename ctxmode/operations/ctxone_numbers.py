"""Numbers and recalls in CTXone's format."""

from __future__ import annotations

from typing import Any

from kb.tokens import BYTES_PER_TOKEN
from memory.facts import Recall, recall_json, recalling


def counterfactual(sent_tokens: int, live_bytes: int) -> dict[str, Any]:
    """Build the size of an answer with all live facts, under both names."""
    flat = -(-live_bytes // BYTES_PER_TOKEN)
    return recalling.counterfactual(sent_tokens, flat) | ctx_numbers(sent_tokens, flat)


def ctx_numbers(sent: int, flat: int) -> dict[str, Any]:
    """Build the three numbers under CTXone's names."""
    return {
        "ctx_tokens_sent": sent,
        "ctx_tokens_estimated_flat": flat,
        "ctx_savings_ratio": recalling.counterfactual(sent, flat)["ratio"],
    }


def ctxone_json(found: Recall) -> dict[str, Any]:
    """Build a recall in CTXone's format. `pinned_count` counts the pinned facts that are shown."""
    rows = recall_json(found)["facts"]
    names = ("path", "title", "full_match", "pinned", "score")
    return {
        "results": [{name: row[name] for name in names} | {"body": row["text"]} for row in rows],
        "pinned_count": found.pinned_shown,
        "topic_matches": found.matches_shown,
    } | ctx_numbers(found.tokens, found.live_tokens)
