"""Files of a person's own, by kind, that end without a newline, as many editors leave them."""

from __future__ import annotations

from collections.abc import Mapping

UNFINISHED: Mapping[str, bytes] = {
    ".json": b'{\n  "theme": "dark"\n}',
    ".toml": b'model = "mine"',
    ".md": b"# Notes\n\nBe brief.",
}
