"""Outputs of real tools, stored as a run's: whether search finds what is asked of them.

Recipes are in `data/outputs.toml`. Beside what search returns within 4,000 bytes stand the lines
that `grep` finds for any word of the query, and the output's two ends. Other queries are made by
rule: three words of a line that chance takes ask for the lines that have all of them. A hash splits
these in two halves; nothing is ever tuned on the half that is held out.
"""

from __future__ import annotations

import hashlib
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.harness import DATA, Bench, measure, write_files
from kb import SourceSpec, Store

EVIDENCE_BYTES = 4000
LIMIT = 10
LINES = 6  # of each output that are asked for by rule
WAIT_S = 600
SEED = 20261128
_ASKED_WORDS = 3
_LETTERS = re.compile(rb"[A-Za-z][a-z]{2,}|[A-Z]{3,}")
_STOP = frozenset({"the", "in", "of", "did", "how", "many", "what", "which", "why", "were", "is"})
_DATA: Mapping[str, Any] = tomllib.loads((DATA / "outputs.toml").read_text())
_PATH = f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
Recipe = Mapping[str, Any]
Span = tuple[int, int]


def make_files(template: Mapping[str, Any]) -> dict[str, str]:
    """Return the files of a template."""
    words: list[str] = _DATA["words"]
    if "until" in template:
        words = words[: words.index(template["until"]) + 1]
    fails = template.get("fails", _DATA["fails"])
    parts, files = template.get("parts", 0), dict[str, str]()

    def fill(text: str, word: str, n: int = 0) -> str:
        i = words.index(word) + 1
        values = {
            "word": word, "Word": word.title(), "i": i, "n": n, "at": (i - 1) * parts + n,
            "want": n + (word in fails and n == 3),
        }  # fmt: skip
        return re.sub(r"@(word|Word|i|n|at|want)@", lambda m: str(values[m[1]]), text)

    for word in words:
        name = fill(template["file"], word)
        text = files.get(name, template.get("first", "")) + fill(template.get("before", ""), word)
        text += "".join(fill(template["part"], word, n) for n in range(parts))
        after = template.get("after", "")
        files[name] = text + fill(template.get("failing", after) if word in fails else after, word)
    last = template.get("last", "")
    more: dict[str, str] = template.get("files", {})
    return {name: text + last for name, text in files.items()} | more


def make_output(recipe: Recipe, folder: Path) -> bytes | None:
    """Return the output of a recipe, both streams as they come; None if a tool is missing."""
    if any(shutil.which(program, path=_PATH) is None for program in recipe.get("needs", ())):
        return None
    if "template" in recipe:
        write_files(folder, make_files(_DATA["template"][recipe["template"]]).items())
    if "npm" in recipe:
        install = ["npm", "install", "--no-audit", "--no-fund", "--silent", *recipe["npm"]]
        if subprocess.run(install, cwd=folder, timeout=WAIT_S, check=False).returncode:
            return None
    command = recipe.get("command", "").replace("@python@", sys.executable)
    if "log" in recipe:
        command = (
            _DATA["commits"]
            .replace("WORDS", " ".join(_DATA["words"]))
            .replace("LOG", recipe["log"])
        )
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env={**os.environ, "PATH": _PATH, "LC_ALL": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=WAIT_S,
        check=False,
    )
    output: bytes = done.stdout
    return output


def ask(
    store: Store, label: str, data: bytes, query: str, pattern: bytes
) -> dict[str, float] | None:
    """Ask a query of one output; None if it holds no answer, as of another version of a tool.
    Return the reciprocal rank of its target, and in whose bytes that was."""
    targets = [found.span() for found in re.finditer(pattern, data, re.MULTILINE)]
    if not targets:
        return None
    (result,) = store.search(f"{query} source:{label}", limit=LIMIT)
    ranks = [
        at
        for at, hit in enumerate(result.hits, 1)
        if _holds((hit.start_byte, hit.end_byte), targets)
    ]
    (within,) = store.search(f"{query} source:{label}", limit=LIMIT, budget_bytes=EVIDENCE_BYTES)
    half = EVIDENCE_BYTES // 2
    return {
        "search": any(_holds((hit.start_byte, hit.end_byte), targets) for hit in within.hits),
        "grep": _grep_shows(data, query, targets),
        "ends": _holds((0, half), targets) or _holds((len(data) - half, len(data)), targets),
        "rank": 1 / ranks[0] if ranks else 0.0,
    }


def ask_by_rule(name: str, data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield queries of three words of a line, and patterns of all lines that have them."""
    chance = random.Random(f"{SEED} {name}")
    found = (dict.fromkeys(_LETTERS.findall(line)) for line in set(data.splitlines()))
    lines = sorted(list(words) for words in found if len(words) >= _ASKED_WORDS)
    for words in chance.sample(lines, min(LINES, len(lines))):
        asked = chance.sample(words, _ASKED_WORDS)
        each = b"".join(rb"(?=[^\n]*" + word + rb")" for word in asked)
        yield b" ".join(asked).decode(), rb"^" + each + rb"[^\n]+"


def _holds(part: Span, targets: Sequence[Span]) -> bool:
    return any(start < part[1] and end > part[0] for start, end in targets)


def _grep_shows(data: bytes, query: str, targets: Sequence[Span]) -> bool:
    """Tell whether the lines with any word of the query hold the target soon enough."""
    words = [word for word in re.findall(r"\w{2,}", query.lower()) if word not in _STOP]
    wanted = re.compile("|".join(map(re.escape, words)).encode() or rb"(?!)", re.IGNORECASE)
    shown = position = 0
    for line in data.splitlines(keepends=True):
        after = position + len(line)
        if wanted.search(line):
            if shown + len(line) > EVIDENCE_BYTES:
                return False
            if _holds((position, after), targets):
                return True
            shown += len(line)
        position = after
    return False


@measure(1, outputs="-", npm="no")
def quality(bench: Bench) -> None:
    """Measure what is asked of outputs of tools, beside grep, and head and tail."""
    named = bench.options["outputs"]
    folder = bench.make_folder("outputs") if named == "-" else Path(named)
    folder.mkdir(parents=True, exist_ok=True)
    answers: dict[str, list[dict[str, float]]] = {
        "by hand": [],
        "by rule": [],
        "by rule, held out": [],
    }
    missing, each = [], dict[str, float]()
    with Store.open(bench.folder / "kb.db") as store:
        for at, recipe in enumerate(_DATA["recipe"]):
            name = recipe["name"]
            is_wanted = bench.wants(name) and ("npm" not in recipe or bench.options["npm"] == "yes")
            data = _read_output(recipe, folder) if is_wanted else None
            if data is None:
                missing.append(name)
                continue
            label = f"{at:02}-{name}"  # no label is a part of another
            store.add(SourceSpec(label, origin="run"), data)
            asked = [
                ask(store, label, data, text, answer.encode()) for text, answer in recipe["asked"]
            ]
            answered = [one for one in asked if one is not None]
            answers["by hand"] += answered
            if answered:
                each[name] = statistics.fmean(one["search"] for one in answered)
            for query, pattern in ask_by_rule(name, data):
                is_held_out = hashlib.sha256(f"{name} {query}".encode()).digest()[0] & 1
                answer = ask(store, label, data, query, pattern)
                half = answers["by rule, held out" if is_held_out else "by rule"]
                half += [] if answer is None else [answer]
    for kind, some in answers.items():
        if some:
            found, grep, ends, rank = (
                statistics.fmean(one[name] for one in some) for name in some[0]
            )
            title = f"{len(some)} queries {kind}"
            bench.value(f"{title}: answered", found, beside="grep", other=grep)
            bench.value(f"{title}: the same", found, beside="head and tail", other=ends)
            bench.value(f"{title}: mean reciprocal rank", rank)
    if short := [name for name, share in each.items() if share < 1]:
        bench.notes.append(f"not all found: {', '.join(short)}")
    bench.notes += [f"not made here: {', '.join(missing)}"] if missing else []


def _read_output(recipe: Recipe, folder: Path) -> bytes | None:
    kept = folder / str(recipe["name"])
    if not kept.exists():
        with tempfile.TemporaryDirectory(prefix="ctxmode-bench-") as place:
            data = make_output(recipe, Path(place))
        if data is None:
            return None
        kept.write_bytes(data)
    return kept.read_bytes()
