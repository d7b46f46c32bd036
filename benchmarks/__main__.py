"""The benchmarks' command line: `python -m benchmarks [NAME …]`.

Without a name all measures that are not long are taken, each room in a process of its own, and
BENCHMARKS.md is written. With names (a room, or one measure of it) or --only, tables are printed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.document import checkout, differences, document, sections
from benchmarks.harness import MEASURES, ROOT, Measure, find_reason, take

ROOMS = (
    *("execute", "processes", "mcp", "containers", "projects", "packages", "context"),
    *("policy", "kb", "outputs", "repomap", "memory", "pages", "sessions", "hooks"),
    *("snapshot", "insight", "fleet"),
)
ROOM_S_MAX = 1800


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, and show or write what was found."""
    args = _parse(argv)
    measures = _choose(args.names)
    if args.list:
        print("\n".join(_describe(one) for one in measures))
        return 0
    if args.json:
        with open(os.dup(1), "w") as answer:
            os.dup2(2, 1)  # the answer holds nothing that programs print meanwhile
            json.dump(measure_here(measures, args), answer, indent=2)
        return 0
    if args.compare:
        with checkout(args.compare) as there:
            for name, before in measure_apart(measures, args, there):
                after = dict(measure_apart([one for one in measures if one.room == name], args))
                told = differences(before, after[name])
                print(f"\n{name}: {args.compare} → here", *told, sep="\n")
        return 0
    output = args.output or (None if args.names or args.only else ROOT / "BENCHMARKS.md")
    found: dict[str, Any] = {}
    for name, result in measure_apart(measures, args):
        found[name] = result
        print("\n".join(sections({name: result})), flush=True)
        if output is not None:
            output.write_text(document(found))  # what is measured so far, in case it is stopped
    return int(any(result["failed"] for result in found.values()))


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="a room, or ROOM.MEASURE")
    parser.add_argument("--list", action="store_true", help="list measures and their options")
    parser.add_argument("--rounds", type=int, metavar="N", help="how often each side is timed")
    parser.add_argument("--only", default="", metavar="WORDS", help="rows with this in their name")
    parser.add_argument(
        "--with", action="append", default=[], metavar="NAME=VALUE", dest="given", type=_option,
        help="an option of a measure",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print JSON, measured in this process")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the document there")
    parser.add_argument("--compare", metavar="REV", help="print what differs from a revision")
    return parser.parse_args(argv)


def _option(text: str) -> tuple[str, str]:
    name, mark, value = text.partition("=")
    if not mark:
        raise argparse.ArgumentTypeError("write NAME=VALUE")
    return name, value


def find_measures(room: str) -> list[Measure]:
    """Return the measures of a room."""
    import_module(f"benchmarks.{room}")
    return [one for one in MEASURES if one.room == room]


def _choose(names: Sequence[str]) -> list[Measure]:
    """Return the measures that are named, or all that are not long."""
    if unknown := {name.partition(".")[0] for name in names} - set(ROOMS):
        sys.exit(f"no such room: {', '.join(sorted(unknown))}\nChoose from: {', '.join(ROOMS)}.")
    rooms = [room for room in ROOMS if not names or room in {n.partition(".")[0] for n in names}]
    every = [measure for room in rooms for measure in find_measures(room)]
    if not names:
        return [one for one in every if not one.is_long]
    known = {one.name for one in every} | set(ROOMS)
    if missing := set(names) - known:
        sys.exit(
            f"no such measure: {', '.join(sorted(missing))}\n"
            f"Choose from: {', '.join(one.name for one in every)}."
        )
    return [one for one in every if one.name in names or (one.room in names and not one.is_long)]


def _describe(measure: Measure) -> str:
    options = "".join(f", --with {name}={value or '…'}" for name, value in measure.options.items())
    needs = f", needs {' '.join(measure.needs)}" if measure.needs else ""
    long = ", only when named" if measure.is_long else ""
    return f"{measure.name:22} {measure.about} ({measure.rounds} rounds{long}{needs}{options})"


def measure_here(measures: Sequence[Measure], args: argparse.Namespace) -> dict[str, Any]:
    """Take measures in this process; return rows, notes, and what could not be measured."""
    result: dict[str, Any] = {"rows": [], "notes": [], "failed": []}
    for measure in measures:
        try:
            bench = take(measure, rounds=args.rounds, only=args.only, given=dict(args.given))
        except (Exception, ExceptionGroup) as error:  # the others are still measured
            reason = find_reason(error)
            result["notes"].append(f"{measure.name}: not measured, {reason or repr(error)}")
            result["failed"] += [] if reason else [measure.name]
        else:
            result["rows"] += [asdict(row) for row in bench.rows]
            result["notes"] += bench.notes
    return result


def measure_apart(
    measures: Sequence[Measure], args: argparse.Namespace, root: Path = ROOT
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Take the measures of each room in a process of its own, by the sources of a checkout."""
    command = (sys.executable, "-m", "benchmarks")
    options = [word for name, value in args.given for word in ("--with", f"{name}={value}")]
    options += ["--rounds", str(args.rounds)] if args.rounds else []
    for room in dict.fromkeys(one.room for one in measures):
        names = [one.name for one in measures if one.room == room]
        sys.stderr.write(f"{room} …\n")
        try:
            done = subprocess.run(
                [*command, *names, "--json", "--only", args.only, *options],
                cwd=root,
                env={**os.environ, "PYTHONPATH": str(root)},
                stdout=subprocess.PIPE,
                timeout=ROOM_S_MAX,
                check=True,
            )
            yield room, json.loads(done.stdout)
        except (subprocess.SubprocessError, ValueError) as error:
            notes = [f"{room}: not measured, {error}"]
            yield room, {"rows": [], "notes": notes, "failed": [room]}


if __name__ == "__main__":
    sys.exit(main())
