"""Words of programs: names are split at case and underscores, and kept whole, too."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from kb.query import STOP_WORDS

TERMS_MAX = 160
"""Different words of a task that are looked for; an issue with a long traceback has some 300."""

TITLE_CHARS = 300
TITLE_WEIGHT = 2.0
"""What a word weighs more for being in the title."""

SAID_AGAIN = 8.0
"""BM25's k3, with its usual value: a word said n times weighs (k3 + 1) n / (k3 + n)."""

TASK_BYTES = 64 * 1024

# Both begin with a capital, which the engine skips to: three times as fast as any other way.
_RISE = re.compile(r"[A-Z](?<=[a-z0-9].)")
_CHANGE = re.compile(r"[A-Z](?:(?<=[a-z0-9].)|(?<=[A-Z].)(?=[a-z]))")
_REST = re.compile(r"\w*")
_WORD = re.compile(r"[^\W_]+")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w{2,79}")
_CODE_LIKE = re.compile(r"_|[a-z0-9][A-Z]|[A-Z]{2}[a-z]")


def split_names(text: str) -> str:
    """Return a text whose names of mixed case are taken apart, followed by those names."""
    parted = _CHANGE.sub(r" \g<0>", text)
    whole = " ".join(_find_mixed(text))
    return f"{parted}\n{whole}" if whole else parted


def _find_mixed(text: str) -> Iterator[str]:
    """Yield the names in which a capital follows a small letter or a digit."""
    end = 0
    for rise in _RISE.finditer(text):
        start = rise.start()
        if start < end:
            continue
        while start > end and (text[start - 1].isalnum() or text[start - 1] == "_"):
            start -= 1
        rest = _REST.match(text, rise.start())
        assert rest is not None  # it matches anything
        end = rest.end()
        yield text[start:end]


def cut_task(task: str) -> str:
    """Return the beginning of a task that counts: its first 64 KiB."""
    data = task.encode("utf-8", "replace")
    return data[:TASK_BYTES].decode("utf-8", "ignore") if len(data) > TASK_BYTES else task


def find_title(task: str) -> str:
    """Return the first line of a task that says something."""
    lines = (line.strip("# \t") for line in task.splitlines())
    return next((line for line in lines if line), "")[:TITLE_CHARS]


def find_terms(text: str) -> tuple[str, ...]:
    """Return the different words of a text by which files are found, in lower case."""
    found: dict[str, None] = {}
    for word in _WORD.findall(split_names(text)):
        low = word.lower()
        if len(low) > 1 and low not in STOP_WORDS and not low.isdigit():
            found.setdefault(low)
            if len(found) == TERMS_MAX:
                break
    return tuple(found)


def weigh_terms(task: str) -> Mapping[str, float]:
    """Return what each word by which files are found weighs: more if the task says it again, and
    if its title does."""
    said = Counter(word.lower() for word in _WORD.findall(split_names(task)))
    titled = frozenset(find_terms(find_title(task)))
    return {
        term: (SAID_AGAIN + 1) * said[term] / (SAID_AGAIN + said[term])
        + (TITLE_WEIGHT if term in titled else 0.0)
        for term in find_terms(task)
    }


def find_names(text: str) -> tuple[str, ...]:
    """Return the different identifiers in a text, those that look like code first."""
    names = dict.fromkeys(_IDENTIFIER.findall(text))
    return tuple(sorted(names, key=lambda name: not is_code_like(name)))


def is_code_like(name: str) -> bool:
    """Tell whether a name has an underscore or changes its case."""
    return _CODE_LIKE.search(name) is not None


def match_any(terms: Iterable[str]) -> str:
    """Return the full-text query that any of the words fits."""
    return " OR ".join(f'"{term}"' for term in terms)
