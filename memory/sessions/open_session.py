"""A session's row while a transaction writes to it: the numbers given out, and what changed."""

from __future__ import annotations

from memory.sessions.records import OutcomeRecord


class OpenSession:
    """What is known of a session while a transaction lasts. No dataclass: a hook loads this."""

    def __init__(  # noqa: PLR0913, PLR0917 - the columns of a row
        self,
        id_: str,
        folder: str,
        sequence: int,
        turn: int,
        messages: int,
        tool_calls: int,
        compactions: int,
        last_at: float | None,
        events: int,
        hooked: str | None = None,
    ) -> None:
        self.id = id_
        self.folder = folder
        self.sequence = sequence
        self.turn = turn
        self.messages = messages
        self.tool_calls = tool_calls
        self.compactions = compactions
        self.last_at = last_at
        """None where no message has a time; what the row then has is the transcript's."""
        self.was_timeless = last_at is None
        self.events = events
        """At most so many there are: some may have gone since they were counted."""
        self.hooked = hooked or ""
        """JSON with the kinds of messages that hooks tell, in place of the transcript."""
        self.has_usage = False
        self.is_changed = False
        self.first_at: float | None = None
        """The first time of this transaction."""
        self.outcome: OutcomeRecord | None = None
        self.changed_turn = -1
        """The last turn that was noted as changed."""

    def note_time(self, at: float | None) -> None:
        """Move the last activity on, where a record is later."""
        self.first_at = at if self.first_at is None else self.first_at
        if at is not None and (self.last_at is None or at > self.last_at):
            self.last_at = at
