"""Taking secrets out of a page's text, and nothing else: what joins letters stays in it."""

from __future__ import annotations

from memory.gate import FindSecrets


def redact(text: str, find_secrets: FindSecrets) -> tuple[str, int]:
    """Return a text with each secret replaced by its kind, and how many there were."""
    pieces, at = [], 0
    found = find_secrets(text)
    for secret in found:
        pieces += [text[at : secret.start], f"[REDACTED:{secret.kind}]"]
        at = secret.end
    return "".join([*pieces, text[at:]]), len(found)
