"""Secrets in text: found by their form, and replaced without touching what stands around them.

    find_secrets(b'password = "…"')     # byte ranges of the values
    redact(text).text                   # password = "[REDACTED:password]"

Text may be str or bytes; ranges are in its own units. Work grows linearly with the text's length.
"""

from __future__ import annotations

from base.secrets.detector import Secret, find_secrets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from base.secrets.names import SECRET_NAMES, is_secret_name, is_secret_path
    from base.secrets.redaction import Redacted, redact
else:

    def __getattr__(name: str) -> object:
        """Load what a hook that only looks for secrets does without: it takes that 6 ms."""
        from importlib import import_module  # noqa: PLC0415

        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = "redaction" if name in ("Redacted", "redact") else "names"
        value = getattr(import_module(f"{__name__}.{module}"), name)
        globals()[name] = value
        return value


__all__ = [
    "SECRET_NAMES",
    "Redacted",
    "Secret",
    "find_secrets",
    "is_secret_name",
    "is_secret_path",
    "redact",
]
