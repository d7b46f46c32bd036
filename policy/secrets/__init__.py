"""Secrets in text: found by their form, and replaced without touching what stands around them.

    find_secrets(b'password = "…"')     # byte ranges of the values
    redact(text).text                   # password = "[REDACTED:password]"

Text may be str or bytes; ranges are in its own units. Work grows linearly with the text's length.
"""

from __future__ import annotations

from policy.secrets.detector import Redacted, Secret, find_secrets, redact
from policy.secrets.names import SECRET_NAMES, is_secret_name, is_secret_path

__all__ = [
    "SECRET_NAMES",
    "Redacted",
    "Secret",
    "find_secrets",
    "is_secret_name",
    "is_secret_path",
    "redact",
]
