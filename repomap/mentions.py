"""Files that a task names: by a path, or by a dotted module."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping

MENTIONS_MAX = 40
FILES_A_MENTION = 3
SHARE = 3.0
"""Up to so many named files count fully; a traceback names many, of which few matter."""

TOKEN_CHARS = 300
_TOKEN = re.compile(r"[\w@./-]+")


def find_mentions(task: str, paths: Collection[str]) -> Mapping[str, float]:
    """Return the files that a task names, each with its share between 0 and 1."""
    by_name: defaultdict[str, list[str]] = defaultdict(list)
    by_stem: defaultdict[str, list[str]] = defaultdict(list)
    for path in paths:
        name = path.rpartition("/")[2]
        by_name[name].append(path)
        by_stem[name.partition(".")[0]].append(path)
    found: dict[str, None] = {}
    tokens = _find_tokens(task)
    for suffix in tokens:
        fits = [p for p in by_name.get(suffix.rpartition("/")[2], ()) if _ends(p, suffix)]
        _take(found, fits)
    for dotted in tokens:
        parts = dotted.split(".")
        while len(parts) > 1 and "/" not in dotted:
            suffix = "/".join(parts)
            fits = [p for p in by_stem.get(parts[-1], ()) if _ends(_stem(p), suffix)]
            if fits:
                _take(found, fits)
                break
            parts.pop()
    share = min(1.0, SHARE / len(found)) if found else 0.0
    return dict.fromkeys(found, share)


def _find_tokens(task: str) -> list[str]:
    """Return what may be a path or a dotted name."""
    found = dict.fromkeys(token.strip("./-") for token in _TOKEN.findall(task))
    return [one for one in found if len(one) <= TOKEN_CHARS and ("." in one or "/" in one)]


def _take(found: dict[str, None], fits: list[str]) -> None:
    if len(fits) <= FILES_A_MENTION and len(found) < MENTIONS_MAX:
        found.update(dict.fromkeys(sorted(fits)))


def _stem(path: str) -> str:
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}{name.partition('.')[0]}"


def _ends(path: str, suffix: str) -> bool:
    return path == suffix or path.endswith(f"/{suffix}")
