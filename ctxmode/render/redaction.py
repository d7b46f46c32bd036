"""What an agent is shown, without secrets: redacted where answers are rendered, and counted.

A model's context and logs get neither keys nor passwords. A person's terminal shows what a program
printed, and artifacts are files as the program made them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from base.secrets import find_secrets, redact

_BETWEEN = "\t"


def redact_answer(text: str, data: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Redact an answer's text and data; if there were secrets, both say how many."""
    # All the texts at once: most answers hold no secret, and each search costs something.
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
    """Say how many secrets were replaced, by kind: `2 secrets redacted: 1 password, 1 token`."""
    total = sum(counts.values())
    each = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
    return f"{total} secret{'s' if total > 1 else ''} redacted: {each}"


def _texts(value: Any) -> Iterator[str]:  # noqa: ANN401 - JSON
    """Yield every text that `without_secrets` looks at, as it looks at it."""
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
    """Redact every text of a JSON value; `kinds` counts what was replaced."""
    if isinstance(value, str):
        shown, secrets = redact(value)
        kinds.update(secret.kind for secret in secrets)
        return shown
    if isinstance(value, Mapping):
        return dict([without_secrets(one, kinds) for one in pair] for pair in value.items())
    if _is_words(value):
        # The words of a command: the word before an option's value shows that it is a secret.
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
