"""Secrets in text: found by their form, and replaced without touching what stands around them.

    find_secrets(b'password = "…"')     # byte ranges of the values
    redact(text)[0]                     # password = "[REDACTED:password]"

Text may be str or bytes; ranges are in its own units. Work grows linearly with the text's length.
"""

from base.lazy_exports import lend_names

__getattr__ = lend_names(__name__, __file__)
