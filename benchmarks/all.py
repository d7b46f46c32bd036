"""All benchmarks, one after the other: `python -m benchmarks.all [NAME …] [--compare REV]`.

Writes BENCHMARKS.md, with the machine, the date and the load. With `--compare REV` another
revision's own benchmarks also run on its sources, and what differs is shown instead.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.report import Report, Row, Times, lines

ROOT = Path(__file__).resolve().parent.parent
NAMES = (
    *("execute", "isolation", "throughput", "compile_cache", "batch", "stream", "startup", "mcp"),
    *("large_output", "limits", "context_saved", "kb", "kb_quality", "kb_outputs"),
    *("sessions", "hooks", "snapshot", "memory", "pages", "one_search"),
    *("containers", "live"),
)
TIMEOUT_S = 1800
TOLD_CHANGE = 0.1  # smaller differences are noise


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.all",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join(NAMES)}")
    parser.add_argument("--compare", metavar="REV", help="a commit, branch or tag")
    parser.add_argument("--output", type=Path, default=ROOT / "BENCHMARKS.md", metavar="FILE")
    args = parser.parse_args(argv)
    if unknown := set(args.names) - set(NAMES):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are: {', '.join(NAMES)}")
    names = args.names or list(NAMES)
    if args.compare is not None:
        return compare(names, args.compare)
    results: dict[str, Any] = {}
    for name in names:
        results[name] = outcome(name, ROOT)
        args.output.write_text(document(results))  # what is measured so far, should it be stopped
    sys.stderr.write(f"wrote {args.output}\n")
    return 1 if any(isinstance(result, str) for result in results.values()) else 0


def outcome(name: str, root: Path) -> Any:  # noqa: ANN401 - JSON, or the text of a failure
    """What one benchmark says as JSON when it runs on the sources of a checkout."""
    sys.stderr.write(f"{name} on {root} …\n")
    try:
        done = subprocess.run(
            [sys.executable, "-m", f"benchmarks.{name}", "--json"],
            cwd=root,
            env={**os.environ, "PYTHONPATH": str(root)},
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=True,
        )
        return json.loads(done.stdout)
    except subprocess.CalledProcessError as error:
        said = [line for line in error.stderr.splitlines() if line.strip()]
        return f"did not run: {said[-1].strip() if said else error}"
    except (subprocess.TimeoutExpired, ValueError) as error:
        return f"did not run: {error}"


def document(results: dict[str, Any]) -> str:
    """BENCHMARKS.md: each benchmark's table under its name."""
    kernel = platform.release().partition("-")[0]
    revision = _git("describe", "--always", "--dirty").strip() or "no repository"
    parts = [
        "# Benchmarks",
        "",
        "Written by `python -m benchmarks.all`. Ratios compare what took turns within one run; the",
        "times depend on the machine and on what else it did.",
        "",
        f"- {datetime.datetime.now(datetime.UTC):%Y-%m-%d %H:%M} UTC, revision {revision}",
        f"- {processor()}, {os.cpu_count()} processors, {memory_gib():.1f} GiB of memory",
        f"- {platform.system()} {kernel}, Python {platform.python_version()}",
        f"- load average at the end: {', '.join(f'{load:.2f}' for load in os.getloadavg())}",
    ]
    for name, result in results.items():
        parts += ["", f"## {name}", "", *_section(result)]
    return "\n".join(parts) + "\n"


def _section(result: Any) -> list[str]:  # noqa: ANN401 - JSON
    if isinstance(result, str):
        return [result]
    if "rows" in result and "figures" in result:
        return lines(restored(result))
    return [
        "| figure | |",
        "| --- | ---: |",
        *(f"| {path} | {value:,.2f} |" for path, value in numbers(result).items()),
    ]


def restored(data: dict[str, Any]) -> Report:
    """The report that a benchmark wrote as JSON."""
    rows = [
        Row(
            row["name"],
            Times(**row["ours"]),
            Times(**row["other"]) if row["other"] else None,
            row["bar"],
            row["bar_ms"],
        )
        for row in data["rows"]
    ]
    return Report(**{**data, "rows": rows, "notes": tuple(data["notes"])})


def numbers(data: Any, path: str = "") -> dict[str, float]:  # noqa: ANN401 - JSON
    """Every number of a JSON document by its path; items of a list go by their name."""
    if isinstance(data, bool) or data is None:
        return {}
    if isinstance(data, int | float):
        return {path: float(data)}
    found: dict[str, float] = {}
    if isinstance(data, dict):
        for key, value in data.items():
            found |= numbers(value, f"{path} {key}".strip())
    if isinstance(data, list):
        for number, item in enumerate(data):
            label = (
                item.get("name", item.get("language", number)) if isinstance(item, dict) else number
            )
            found |= numbers(item, f"{path} {label}".strip())
    return found


def compare(names: Sequence[str], revision: str) -> int:
    """Each benchmark there and here, and every time that differs."""
    failed = False
    with checkout(revision) as there:
        for name in names:
            before, after = outcome(name, there), outcome(name, ROOT)
            print(f"\n{name}: {revision} → here")
            failures = [it for it in (before, after) if isinstance(it, str)]
            failed = failed or bool(failures)
            print("\n".join(failures) or "\n".join(differences(numbers(before), numbers(after))))
    return 1 if failed else 0


def differences(before: dict[str, float], after: dict[str, float]) -> list[str]:
    """A line for each time that changed by more than noise, the largest change first."""
    changed = []
    for path in before.keys() & after.keys():
        old, new = before[path], after[path]
        is_told = any(word in path for word in ("median", "per_s", "resident"))
        if is_told and old and abs(new / old - 1) >= TOLD_CHANGE:
            changed.append(
                (abs(new / old - 1), f"{path:<50} {old:>10.1f} → {new:>10.1f}  {new / old:.2f}")
            )
    return [line for _, line in sorted(changed, reverse=True)] or [
        "nothing differs by 10 % or more"
    ]


@contextmanager
def checkout(revision: str) -> Iterator[Path]:
    """Another revision's sources in a folder of their own."""
    with tempfile.TemporaryDirectory(prefix="ctxmode-bench-") as folder:
        tree = Path(folder, "tree")
        _git("worktree", "add", "--detach", str(tree), revision, check=True)
        try:
            yield tree
        finally:
            _git("worktree", "remove", "--force", str(tree))


def processor() -> str:
    """The processor's name as the kernel has it."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def memory_gib() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)


def _git(*arguments: str, check: bool = False) -> str:
    done = subprocess.run(
        ["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False
    )
    if check and done.returncode:
        raise SystemExit(f"git: {done.stderr.strip()}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
