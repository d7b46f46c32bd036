"""For hosts whose hooks cannot make them ask the person, or are told by an exit code alone."""

from __future__ import annotations

from ctxmode.hosts.hooks.calls import Answer, Refusal, Ruling


def refuse(ruling: Ruling) -> Ruling:
    """The same ruling, with a question turned into a refusal that says so."""
    if ruling.kind != "ask":
        return ruling
    why = (
        "A person's consent is needed and cannot be asked for here; ask for it to be done by hand."
    )
    return ruling._replace(kind="deny", text=f"{ruling.text}\n{why}")


def answer_by_code(ruling: Ruling, event_name: str) -> Refusal | None:
    """A refusal by exit code 2 and stderr; silence for all else, advice included."""
    del event_name
    said = refuse(ruling)
    return Refusal(said.text) if said.kind == "deny" else None


def add_as_text(text: str, event_name: str) -> Answer:
    """Plain text, which the host adds to its context."""
    del event_name
    return text
