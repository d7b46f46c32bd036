"""Redaction of secrets in answers for agents; the secrets are counted.

A model's context and logs get neither keys nor passwords. The user's terminal shows the unchanged
output of programs, and artifacts are the unchanged files of programs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from base.secrets import find_secrets, redact
from base.wording import inflect

_BETWEEN = "\t"


def redact_answer(text: str, data: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Redact an answer's text and data; if there were secrets, both report the number."""
    # One search over all texts: most answers contain no secret, and each search takes time.
    if not find_secrets("\n".join((text, *_texts(data)))):
        return text, data
    shown, secrets = redact(text)
    kinds: Counter[str] = Counter()
    clean: dict[str, Any] = without_secrets(data, kinds)
    counts = dict(Counter(secret.kind for secret in secrets)) or dict(kinds)
    if not counts:
        return text, data
    return f"{shown}\n[{describe_redactions(counts)}]", clean | {"redactions": counts}


def describe_redactions(counts: Mapping[str, int]) -> str:
    """Write how many secrets were replaced: `2 secrets redacted: 1 password, 1 token`."""
    each = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
    return f"{inflect(sum(counts.values()), 'secret')} redacted: {each}"


def _texts(value: Any) -> Iterator[str]:  # noqa: ANN401 - JSON
    """Yield the texts that `without_secrets` searches, in the same form."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in (*value, *value.values()):
            yield from _texts(item)
    elif _is_words(value):
        yield _BETWEEN.join(value)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


def without_secrets(value: Any, kinds: Counter[str]) -> Any:  # noqa: ANN401 - JSON
    """Redact all texts of a JSON value; `kinds` counts the secrets."""
    if isinstance(value, str):
        shown, secrets = redact(value)
        kinds.update(secret.kind for secret in secrets)
        return shown
    if isinstance(value, Mapping):
        return dict([without_secrets(one, kinds) for one in pair] for pair in value.items())
    if _is_words(value):
        # Words of a command are joined: the option before a value shows that it is a secret.
        words: list[str] = without_secrets(_BETWEEN.join(value), kinds).split(_BETWEEN)
        return words
    if isinstance(value, list | tuple):
        return [without_secrets(item, kinds) for item in value]
    return value


def _is_words(value: object) -> bool:
    return (
        isinstance(value, list | tuple)
        and len(value) > 1
        and all(isinstance(item, str) and _BETWEEN not in item for item in value)
    )
