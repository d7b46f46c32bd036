"""What `kept rm` forgets."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from ctxmode.errors import UsageError
from kb import Purged, Store


@dataclass(frozen=True, slots=True)
class PurgeRequest:
    """Sources that fit every filter given."""

    source: str | None = None
    older_than_s: float | None = None
    kind: str | None = None
    session: str | None = None
    superseded: bool = False
    pinned: bool = False  # pinned ones go, too
    expired: bool = False  # without a filter: only those whose time is over
    everything: bool = False  # no filter is given, and all are meant

    @property
    def filtered(self) -> bool:
        """Tell whether it says which sources it means."""
        given = (self.source, self.older_than_s, self.kind, self.session)
        return self.superseded or any(value is not None for value in given)

    def carry_out(self, store: Store) -> Purged:
        """Forget them. A UsageError says that no source is meant, or that a filter stands beside
        `everything`."""
        if self.source is not None and not self.source.strip():
            raise UsageError("source is empty, which would be every source", "Name a part of one.")
        if self.everything and self.filtered:
            raise UsageError("everything and a filter exclude each other", "Leave one of them out.")
        if not (self.everything or self.filtered or self.expired):
            raise UsageError(
                "purge of what?", "Name a source, a kind or an age, or say that all is meant."
            )
        return store.purge(**{k: v for k, v in asdict(self).items() if k != "expired"})
