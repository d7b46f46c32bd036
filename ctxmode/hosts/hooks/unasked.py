"""For hosts whose hooks cannot make them ask the person."""

from __future__ import annotations

from ctxmode.hosts.hooks.calls import Ruling


def refuse(ruling: Ruling) -> Ruling:
    """The same ruling, with a question turned into a refusal that says so."""
    if ruling.kind != "ask":
        return ruling
    why = (
        "A person's consent is needed and cannot be asked for here; ask for it to be done by hand."
    )
    return Ruling("deny", f"{ruling.text}\n{why}")
