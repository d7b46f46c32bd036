"""Check what changed: format, lint, spelling, types, and the tests nearest to it.

Changed is all since the branch left main. On main it is what is not committed, or else the last
commit. Tests are chosen by imports, the nearest first, until their recorded times fill the budget;
the files left out are named, and `./run-tests` runs them. Slow and container tests run only when
their own file changed.

examples:
  ./check                        what changed
  ./check --list                 show the chosen tests without running them
  ./check kb/ranking.py          as if this file alone had changed
  ./check --since HEAD~5         what the last five commits changed, too
  ./check --budgets              print the measures that tests/structure/test_budgets.py holds
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.selection import Choice, ImportMap, choose, load, save, shorten

ROOT = Path(__file__).parents[1]
CACHE = ROOT / ".cache" / "check"
BIN = Path(sys.executable).parent
TESTS_S = 40.0
BUSY = 1.5
NO_TESTS = 5  # the exit code of pytest when all are left out
LAST_TEST_S = 180  # for a test that begins just before the time of all is over
LINT_S, TYPES_S, GIT_S, ENDING_S = 120, 900, 30, 20
STEPS = {
    "format": ("ruff", "format", "--check", "."),
    "lint": ("ruff", "check", "."),
    "spelling": ("codespell",),
}


class UsageError(Exception):
    """A problem with what is asked for: what is wrong, and what to type."""


def main(arguments: list[str] | None = None) -> int:
    """Run the steps; return 1 if one of them failed, 2 if nothing could be checked."""
    options = parse(arguments)
    if options.budgets:
        return subprocess.call([sys.executable, "-m", "tests.structure.test_budgets"], cwd=ROOT)
    try:
        changed = find_changed(options.files, options.since)
    except UsageError as problem:
        print(problem, file=sys.stderr)
        return 2
    imports = ImportMap(ROOT, CACHE / "imports.json")
    slowness = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    recorded = load(CACHE / "seconds.json")
    choice = choose(imports, changed, recorded, options.seconds / slowness)
    print(f"Changed: {shorten(changed)}")
    print(f"Tests: {len(choice.run)} files, about {sum(choice.run.values()) * slowness:.0f} s")
    if slowness > BUSY:
        print(f"The machine is busy: all takes some {slowness:.0f} times as long")
    if options.list:
        print("".join(f"  {seconds:6.1f} s  {test}\n" for test, seconds in choice.run.items()))
    if choice.left_out:
        print(f"Left out, ./run-tests runs them: {shorten(choice.left_out)}")
    return (
        0
        if options.list
        else run_steps(choice, {"changed": changed, "slowness": slowness}, options.seconds)
    )


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog="./check", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", metavar="FILE", help="changed files")
    parser.add_argument("--since", metavar="REV", help="count what changed since this revision")
    parser.add_argument(
        "--seconds", type=float, default=TESTS_S, help="time for tests (default: %(default).0f)"
    )
    parser.add_argument("--list", action="store_true", help="show the chosen tests")
    parser.add_argument("--budgets", action="store_true", help="print the house's measures")
    return parser.parse_args(arguments)


def find_changed(files: list[str], since: str | None) -> list[str]:
    """Return the changed files by their paths in the checkout, those that are gone included.

    Raises:
        UsageError: a file does not exist, or git knows no earlier revision.
    """
    if files:
        return [find_in_checkout(name) for name in files]
    changed = git("diff", "--name-only", "--no-renames", since or find_base())
    return sorted({*changed, *git("ls-files", "--others", "--exclude-standard")})


def find_in_checkout(name: str) -> str:
    """Return the path of a file in the checkout.

    Raises:
        UsageError: it does not exist, or is elsewhere.
    """
    path = Path(name).resolve()
    if not path.exists():
        raise UsageError(f"cannot read {name}: no such file\nName files of the checkout.")
    if not path.is_relative_to(ROOT):
        raise UsageError(f"cannot check {name}: outside of the checkout\nName files of it.")
    return path.relative_to(ROOT).as_posix()


def find_base() -> str:
    """Return the revision with which the checkout is compared."""
    if git("branch", "--show-current") != ["main"]:
        for main in ("main", "origin/main"):
            try:
                return git("merge-base", "HEAD", main)[0]
            except UsageError:
                continue
    return "HEAD" if git("status", "--porcelain") else "HEAD~1"


def git(*arguments: str) -> list[str]:
    """Return the lines that a git command prints.

    Raises:
        UsageError: it failed.
    """
    command = ["git", "-c", "core.quotePath=off", *arguments]
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=GIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise UsageError(f"{problem}\nName the changed files: ./check FILE...") from None
    if done.returncode:
        said = (done.stderr.splitlines() or ["it failed"])[0]
        raise UsageError(f"git {arguments[0]}: {said}\nName the changed files: ./check FILE...")
    return done.stdout.splitlines()


def run_steps(choice: Choice, plan: dict[str, object], seconds: float) -> int:
    """Run each step, types beside the others, and report what failed. Return 1 if anything did."""
    begun = time.monotonic()
    if not (ROOT / ".mypy_cache").is_dir():
        print("mypy: the first run in a checkout takes minutes, later ones seconds", flush=True)
    mypy = start("mypy")
    failed = [name for name, step in STEPS.items() if not finish(start(*step), LINT_S)]
    if choice.run and not pass_tests(choice, plan, seconds):
        failed.append("tests")
    if not finish(mypy, TYPES_S):
        failed.append("mypy")
    taken = time.monotonic() - begun
    print(f"\n{'Failed: ' + ', '.join(failed) if failed else 'Passed'}, {taken:.0f} s")
    return 1 if failed else 0


def start(program: str, *arguments: str) -> subprocess.Popen[str]:
    """Start a tool of the checkout; `finish` shows its output."""
    return subprocess.Popen(
        [BIN / program, *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def finish(step: subprocess.Popen[str], seconds: float) -> bool:
    """Wait for a tool, show what it says if it failed, and return whether it passed."""
    with step:
        try:
            said, _ = step.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            step.kill()
            said = f"{step.args[0]} takes longer than {seconds} s\n"
    if step.returncode:
        print(said, end="", flush=True)
    return step.returncode == 0


def pass_tests(choice: Choice, plan: dict[str, object], seconds: float) -> bool:
    """Run the chosen tests, with their output as it comes, and return whether all passed."""
    save(CACHE / "plan.json", plan | {"until": time.monotonic() + seconds})
    command = [sys.executable, "-m", "pytest", "-q", "-rfE", "-p", "tests.chosen", *choice.run]
    tests = subprocess.Popen(command, cwd=ROOT, env=os.environ | {"CTXMODE_CHECK": str(CACHE)})
    try:
        return tests.wait(seconds + LAST_TEST_S) in (0, NO_TESTS)
    except subprocess.TimeoutExpired:
        tests.send_signal(signal.SIGINT)  # pytest shows where it is
        print(f"the tests take longer than {seconds + LAST_TEST_S:.0f} s", flush=True)
        try:
            tests.wait(ENDING_S)
        except subprocess.TimeoutExpired:
            tests.kill()
            tests.wait()
        return False


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
