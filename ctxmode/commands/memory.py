"""Remember facts of this project, and recall those that answer a question, within a budget.

A fact lies at a path, /memory/CONTEXT/KEY; writing to it again replaces it, and its history stays.
FACT is an id, such as mem-k7k2qx3a, or a path. Facts with --scope user hold in all your projects.

examples:
  context-mode memory remember "Paths are POSIX only" --context decisions --key paths
  context-mode memory recall "which paths" --budget 800
  context-mode memory search POSIX --exact
  context-mode memory list
  context-mode memory prime docs/guide.md
  context-mode memory pin /memory/decisions/paths
  context-mode memory blame /memory/decisions/paths --json
  context-mode memory log --limit 5
  context-mode memory unpin /memory/decisions/paths
  context-mode memory forget /memory/decisions/paths --why "Windows is supported"
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from base.plain_files import read_plain
from ctxmode import exit_codes
from ctxmode.config.locations import load_config
from ctxmode.errors import UsageError, why
from ctxmode.launch import print_answer, print_json, tell
from ctxmode.operations.facts import open_facts, translate_fact_errors
from ctxmode.render.highlight import harmless, one_line
from memory.facts.drafts import parse_confidence, parse_ttl
from memory.facts.memory import Memory
from memory.facts.model import (
    BODY_BYTES_MAX,
    CATEGORIES,
    DEFAULT_CONTEXT,
    SCOPES,
    Change,
    Draft,
)
from memory.facts.priming import TEXT_BYTES_MAX
from memory.facts.recalling import DEFAULT_BUDGET, Recalled, RecallRequest, recall_json
from memory.facts.similar import write_similar

NOTHING = "Nothing is remembered yet.\n"
SHOWN_CHARS = 72


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")

    def add(name: str, about: str) -> argparse.ArgumentParser:
        one = actions.add_parser(name, help=about, description=about)
        one.add_argument("--json", action="store_true", help="as docs/cli.md tells")
        return one

    _add_remember(add("remember", "write a fact"))
    priming = add(
        "prime", "write the sections of a Markdown file, one fact each; again: what differs"
    )
    priming.add_argument("file", metavar="FILE|-", help="- is stdin")
    priming.add_argument("--pin", action="store_true", help="begin each recall with them")
    priming.add_argument("--source", default="", metavar="NAME", help="default: the file's name")
    recall = add("recall", "pinned facts, and those that answer a question")
    recall.add_argument("query", metavar="QUERY", nargs="?", default="")
    recall.add_argument("--budget", type=_count, default=DEFAULT_BUDGET, metavar="TOKENS",
        help=f"how much the answer may take (default {DEFAULT_BUDGET})")  # fmt: skip
    search = add("search", "facts that answer a query, the best first, without a budget")
    search.add_argument("query", metavar="QUERY")
    search.add_argument("--prefix", default="", metavar="PATH", help="only below this path")
    search.add_argument("--limit", type=_count, default=50, metavar="N", help="default: 50")
    for one in (recall, search):
        one.add_argument("--exact", action="store_true", help="only what holds QUERY as it is")
    listing = add("list", "all facts, by their paths")
    listing.add_argument("--prefix", default="", metavar="PATH", help="only below this path")
    listing.add_argument("--expired", action="store_true", help="only those whose time is over")
    add("show", "one fact, and who wrote it").add_argument("fact", metavar="FACT")
    for name, about in (
        ("pin", "begin each recall with a fact"),
        ("unpin", "let a fact be recalled by questions alone"),
        ("forget", "take a fact out of recall; its history stays"),
    ):
        one = add(name, about)
        one.add_argument("fact", metavar="FACT")
        one.add_argument("--why", default="", metavar="TEXT", help="the reason, for the ledger")
        if name == "forget":
            one.add_argument("--erase", action="store_true",
                help="its text goes from the history and the snapshots, too")  # fmt: skip
    add("blame", "all that was written at a fact's path").add_argument("fact", metavar="FACT")
    log = add("log", "the ledger, the newest first")
    log.add_argument("--prefix", default="", metavar="PATH", help="only below this path")
    log.add_argument("--limit", type=_count, default=20, metavar="N", help="default: 20")


def _add_remember(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", metavar="TEXT|-", help="the fact; - is stdin")
    parser.add_argument("--title", default="", metavar="TEXT", help="a line above the text")
    parser.add_argument("--context", default=DEFAULT_CONTEXT, metavar="NAME",
        help=f"what it is about (default {DEFAULT_CONTEXT})")  # fmt: skip
    parser.add_argument("--key", default="", metavar="NAME", help="replaces what has this key")
    parser.add_argument(
        "--tag", action="append", default=[], metavar="NAME", help="a word to find it by"
    )
    parser.add_argument("--confidence", default="medium", metavar="HOW",
        help="high, medium, low, or 0 to 1")  # fmt: skip
    parser.add_argument("--why", default="", metavar="TEXT", help="the reason, for the ledger")
    parser.add_argument("--category", choices=CATEGORIES, default="observe", help="for the ledger")
    parser.add_argument("--ttl", default="", metavar="AGE", help="until it expires: 12h, 30d, 2w")
    parser.add_argument("--scope", choices=SCOPES, default="project",
        help="user: in all your projects")  # fmt: skip
    parser.add_argument("--supersedes", default="", metavar="FACT", help="another that goes")


def run(args: argparse.Namespace) -> int:
    if args.action in WRITERS:
        WRITERS[args.action](args)
        return exit_codes.OK
    with open_facts(load_config(args.project)) as memory:
        tell(memory.notices)
        ACTIONS[args.action](args, memory)
    return exit_codes.OK


def _remember(args: argparse.Namespace) -> None:
    with translate_fact_errors():
        draft = Draft(
            text=_read_stdin(BODY_BYTES_MAX) if args.text == "-" else args.text,
            title=args.title,
            key=args.key,
            context=args.context,
            tags=tuple(args.tag),
            confidence=parse_confidence(args.confidence),
            category=args.category,
            why=args.why,
            ttl_s=parse_ttl(args.ttl),
            scope=args.scope,
            supersedes=args.supersedes,
        )
    file = "user" if args.scope == "user" else "project"
    with open_facts(load_config(args.project), to_write=file) as memory:
        tell(memory.notices)
        written = memory.remember(draft)
    word = "unchanged" if written.is_unchanged else "remembered"
    text = f"{word}: {written.id} {harmless(written.path)}"
    if written.redactions:
        text += f"\n{written.redactions} secrets were left out"
    if written.similar:
        text += f"\n{harmless(write_similar(written))}"
    print_answer(args, asdict(written), text)


def _prime(args: argparse.Namespace) -> None:
    name = args.source or ("stdin" if args.file == "-" else Path(args.file).name)
    text = _read_file(args.file)
    with open_facts(load_config(args.project), to_write="project") as memory:
        tell(memory.notices)
        primed = memory.prime(text, source=name, title=name, is_pinned=args.pin)
    counts = ", ".join(
        f"{len(getattr(primed, word))} {word}" for word in ("added", "changed", "removed", "same")
    )
    print_answer(args, asdict(primed), f"{harmless(name)}: {counts}")


def _read_file(given: str) -> str:
    if given == "-":
        return _read_stdin(TEXT_BYTES_MAX)
    try:
        return read_plain(given, TEXT_BYTES_MAX).decode()
    except (OSError, ValueError) as error:
        raise UsageError(f"{given}: {why(error)}", "Give a Markdown file in UTF-8.") from error


def _read_stdin(bytes_max: int) -> str:
    """Read a text, or so much of it that it is refused as too long."""
    data = sys.stdin.buffer.read(bytes_max + 1)
    try:
        return data.decode(errors="strict" if len(data) <= bytes_max else "replace")
    except UnicodeDecodeError as error:
        raise UsageError("what stdin gives is not UTF-8", "Give a text.") from error


def _recall(args: argparse.Namespace, memory: Memory) -> None:
    asked = RecallRequest(args.query, args.budget, is_exact=args.exact)
    if not memory.stores:
        print_answer(args, {"text": "", "facts": []}, NOTHING.strip())
        return
    found = memory.recall(asked)
    print_answer(args, {"text": found.text, **recall_json(found)}, harmless(found.text.rstrip()))


def _search(args: argparse.Namespace, memory: Memory) -> None:
    found = memory.search(args.query, prefix=args.prefix, is_exact=args.exact, limit=args.limit)
    if args.json:
        print_json({"facts": [{**asdict(one.fact), **_match_json(one)} for one in found]})
    else:
        lines = (_line(one.fact.id, one.fact.path, one.fact.text) for one in found)
        _write(lines, "No fact answers it.\n")


def _match_json(one: Recalled) -> dict[str, object]:
    return {
        "full_match": one.is_full_match,
        "score": round(one.score, 4),
        "matched": list(one.matched),
    }


def _list(args: argparse.Namespace, memory: Memory) -> None:
    found = memory.list(prefix=args.prefix, is_expired=args.expired)
    if args.json:
        print_json({"facts": [asdict(one) for one in found]})
    else:
        _write((_line(one.id, one.path, one.text) for one in found), NOTHING)


def _show(args: argparse.Namespace, memory: Memory) -> None:
    fact = memory.find(args.fact)
    pinned = ", pinned" if fact.is_pinned else ""
    head = f"{fact.id} {fact.path} ({fact.scope}{pinned}), by {fact.agent}, {_time(fact.at)}"
    parts = (head, fact.title, fact.text, f"why: {fact.why}" if fact.why else "")
    print_answer(args, asdict(fact), harmless("\n".join(filter(None, parts))))


def _change(args: argparse.Namespace, memory: Memory) -> None:
    change = {"pin": memory.pin, "unpin": memory.unpin, "forget": memory.forget}[args.action]
    fact = change(args.fact, why=args.why)
    done = {"pin": "pinned", "unpin": "no longer pinned", "forget": "forgotten"}[args.action]
    print_answer(args, asdict(fact), f"{done}: {fact.id} {harmless(fact.path)}")


def _forget(args: argparse.Namespace, memory: Memory) -> None:
    if not args.erase:
        _change(args, memory)
        return
    erased = memory.erase(args.fact, why=args.why)
    text = f"erased: {' '.join(erased.ids)} {harmless(' '.join(erased.paths))}"
    print_answer(args, asdict(erased), text)


def _blame(args: argparse.Namespace, memory: Memory) -> None:
    _show_changes(args, memory.blame(args.fact))


def _log(args: argparse.Namespace, memory: Memory) -> None:
    _show_changes(args, memory.log(prefix=args.prefix, limit=args.limit))


def _show_changes(args: argparse.Namespace, changes: list[Change]) -> None:
    if args.json:
        print_json({"changes": [asdict(one) for one in changes]})
        return
    lines = (
        f"{_time(one.at)}  {one.operation:7}  {one.category:10}  {one.confidence:.2f}  "
        f"{one_line(one.agent)}  {_line(one.fact_id, one.path, one.why or one.text)}"
        for one in changes
    )
    _write(lines, NOTHING)


def _line(name: str, path: str, text: str) -> str:
    short = text if len(text) <= SHOWN_CHARS else f"{text[: SHOWN_CHARS - 1]}…"
    return f"{name}  {one_line(path)}  {one_line(short)}"


def _write(lines: Iterable[str], nothing: str) -> None:
    text = "".join(f"{line}\n" for line in lines)
    sys.stdout.write(text or nothing)


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M")


def _count(text: str) -> int:
    if not text.isdecimal() or len(text) > 9 or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1 on")
    return int(text)


WRITERS: dict[str, Callable[[argparse.Namespace], None]] = {
    "remember": _remember,
    "prime": _prime,
}
ACTIONS: dict[str, Callable[[argparse.Namespace, Memory], None]] = {
    "recall": _recall,
    "search": _search,
    "list": _list,
    "show": _show,
    "pin": _change,
    "unpin": _change,
    "forget": _forget,
    "blame": _blame,
    "log": _log,
}
