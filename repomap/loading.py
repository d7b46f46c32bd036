"""The text of a file for a pack: read now, without its secrets."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from repomap.pack_model import Redact
from repomap.reading import read_text


@dataclass(slots=True)
class Loader:
    """Reads files once. `warnings` are the secrets that were found: path, line and kind, no value.

    A file that is gone, or is no text any more, has None.
    """

    root: Path
    file_bytes: int
    redact: Redact
    warnings: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _texts: dict[str, str | None] = field(default_factory=dict)

    def load(self, path: str) -> str | None:
        """Return the text of a file with LF at the ends of its lines."""
        if path not in self._texts:
            self._texts[path] = self._load(path)
        return self._texts[path]

    def forget(self, path: str) -> None:
        """Drop a text that is needed no more."""
        self._texts.pop(path, None)
        self.warnings.pop(path, None)

    def _load(self, path: str) -> str | None:
        found = read_text(self.root, path, self.file_bytes)
        if isinstance(found, str):
            return None
        text = found.data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
        clean, secrets = self.redact(text)
        if secrets:
            self.warnings[path] = tuple(
                f"{path}:{line} [secret:{kind}]" for line, kind in sorted(set(secrets))
            )
        return clean
