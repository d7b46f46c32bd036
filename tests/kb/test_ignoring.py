"""Ignore files: as git itself reads them, in time, and with what is not obeyed told."""

from __future__ import annotations

import itertools
import os
import random
import subprocess
import time
from pathlib import Path

import pytest

from kb import ignoring
from kb.ignoring import (
    PATTERN_CHARS_MAX,
    PATTERNS_MAX,
    STARS_MAX,
    Ignores,
    PatternTooLargeError,
    ignore_pattern,
)
from kb.walking import Selection, Walk, Why
from tests.needs import need

SECONDS_MAX = 20.0
"""For what takes milliseconds here and would take years by trying every way."""

# Without a bracket that never ends: behind a slash it may end in the next name, for git.
ATOMS = (
    *("a", "b", "ab", "*", "?", "*a", "a*", "a*b", "*b*", "[ab]", "[!a]", "[^b]", "[a-c]", "[]a]"),
    *("[[:alpha:]]", "[[:digit:]x]", "[[:none:]]", "[z-a]", "[a\\]b]", "[é]", "]", "\\*"),
    *("\\a", "a ", "\\ ", "!", "#", "\\!a", "\\#a", "é", "??", ".", ".*", "-", "a\\", "***a"),
)
NAMES = ("a", "b", "ab", "abc", "c", "é", "]", "a b", "a ", "[", "-", "!a", "#a", ".a", "*")
PATTERNS = 300


def some_pattern(rng: random.Random) -> str:
    segments = [
        "**" if rng.random() < 0.3 else "".join(rng.choices(ATOMS, k=rng.randint(1, 2)))
        for _ in range(rng.randint(1, 3))
    ]
    # Of two stars within a name git 2 makes, by a pointer's chance, either meaning.
    text = "/".join(one if one == "**" else one.replace("**", "*") for one in segments)
    return rng.choice(("", "", "!", "/")) + text + rng.choice(("", "", "/", " "))


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A repository, and the paths of it."""
    need("git")
    top = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "-q", str(top)], check=True)
    rng = random.Random(14)
    paths = []
    for names in itertools.chain(*(itertools.product(NAMES[:9], repeat=n) for n in (1, 2, 3))):
        path = "/".join(names)
        if not (top / path).parent.is_dir():
            continue
        if len(names) < 3 and rng.random() < 0.7:
            (top / path).mkdir()
        else:
            (top / path).touch()
        paths.append(path)
    for name in NAMES[9:]:
        (top / name).touch()
        paths.append(name)
    return top, paths


def of_git(top: Path, paths: list[str]) -> set[str]:
    """What git ignores of these paths."""
    done = subprocess.run(
        ["git", "-C", str(top), "check-ignore", "-z", "--no-index", "--stdin"],
        input="\0".join(paths).encode(), capture_output=True, check=False,
    )  # fmt: skip
    return set(done.stdout.decode().split("\0")) - {""}


def of_ours(top: Path, paths: list[str]) -> set[str]:
    """What we ignore of them, folder by folder as a walk comes upon them."""
    ignores = Ignores().within(top)
    ignored: set[str] = set()
    for path in sorted(paths, key=lambda path: path.count("/")):
        is_below = os.path.dirname(path) in ignored
        if is_below or ignores.match(f"{top}/{path}", is_folder=(top / path).is_dir()):
            ignored.add(path)
    return ignored


def test_every_pattern_means_what_it_means_to_git(repository) -> None:
    top, paths = repository
    rng = random.Random(2)
    differing = []
    for _ in range(PATTERNS):
        lines = [some_pattern(rng) for _ in range(rng.choice((1, 1, 2, 3)))]
        (top / ".gitignore").write_text("\n".join(lines) + "\n")
        some = rng.sample(paths, 60)
        git, ours = of_git(top, some), of_ours(top, paths) & set(some)
        if git != ours:
            differing.append((lines, sorted(git ^ ours)[:3]))
    assert differing == []


@pytest.mark.parametrize(
    ("line", "path", "other"),
    [
        ("*e" * 30 + "*x", "e" * 250 + "x", "e" * 250),
        ("?*" * 60 + "x", "e" * 250 + "x", "e" * 250),
        ("[a-e]*" * 60 + "x", "e" * 250 + "x", "e" * 250),
        ("**/e*/" * 15 + "x", f"{'e' * 200}/" * 15 + "x", f"{'e' * 200}/" * 15 + "y"),
        ("a/" + "**/*e*e*e*/" * 10 + "x", "a/" + "eeeeeeee/" * 300 + "x", "a/" + "eeeeeeee/" * 300),
    ],
)
def test_a_line_is_matched_without_trying_every_way(line: str, path: str, other: str) -> None:
    started = time.monotonic()
    pattern = ignore_pattern(line)
    assert pattern.fits(path, os.path.basename(path), is_folder=False)
    assert not pattern.fits(other, os.path.basename(other), is_folder=False)
    assert time.monotonic() - started < SECONDS_MAX


@pytest.mark.parametrize("line", ["a" * (PATTERN_CHARS_MAX + 1), "*a" * (STARS_MAX + 1)])
def test_a_line_over_the_bounds_is_not_obeyed_and_told(tmp_path: Path, line: str) -> None:
    with pytest.raises(PatternTooLargeError):
        ignore_pattern(line)
    (tmp_path / "a.log").touch()
    (tmp_path / "b.txt").touch()
    (tmp_path / ".gitignore").write_text(f"*.log\n{line}\n")
    walk = Walk(tmp_path, Selection())
    assert {entry.relative for entry in walk.files()} == {".gitignore", "b.txt"}
    told = {path: reason for path, reason, _ in walk.skipped}
    assert told["a.log"] == "ignored by .gitignore"
    assert told[".gitignore"].startswith(".gitignore, line 2, is not used")


def test_more_lines_than_are_obeyed_and_what_is_no_file_are_told(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("x\n" * (PATTERNS_MAX + 1))
    (tmp_path / "d").mkdir()
    os.mkfifo(tmp_path / "d/.gitignore")
    walk = Walk(tmp_path, Selection())
    list(walk.files())
    told = [reason for _, reason, _ in walk.skipped]
    assert any("used up to line" in reason for reason in told)
    assert any("it is not a regular file" in reason for reason in told)


@pytest.mark.parametrize("target", ["/dev/zero", "fifo"])
def test_what_is_no_file_ignores_nothing(tmp_path: Path, target: str):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / ".gitignore").symlink_to(target)
    assert not Ignores().within(tmp_path).match("file", is_folder=False)
    (tmp_path / ".gitignore").unlink()
    (tmp_path / ".gitignore").write_text("file\n")  # the control
    assert Ignores().within(tmp_path).match(str(tmp_path / "file"), is_folder=False)


def walked(root: Path) -> tuple[set[str], set[str]]:
    """The files that a walk gives, and what it leaves out as ignored."""
    walk = Walk(root, Selection())
    files = {entry.relative for entry in walk.files()}
    return files, {path for path, _, why in walk.skipped if why is Why.IGNORED}


def test_git_itself_says_what_is_ignored_in_its_working_trees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("git")
    (tmp_path / "inner").mkdir()
    for top, pattern in ((tmp_path, "*.log\nbuild/"), (tmp_path / "inner", "*.tmp")):
        subprocess.run(["git", "init", "-q", str(top)], check=True)
        (top / ".gitignore").write_text(f"{pattern}\n")
        (top / "x.tmp").touch()
    (tmp_path / "build").mkdir()
    for name in ("tracked.log", "other.log", "build/made"):
        (tmp_path / name).touch()
    subprocess.run(["git", "-C", str(tmp_path), "add", "-f", "tracked.log"], check=True)
    marker = tmp_path.with_name("started")
    setting = ["config", "core.fsmonitor", f"touch {marker}; false"]
    subprocess.run(["git", "-C", str(tmp_path), *setting], check=True)
    always = {".gitignore", "x.tmp", "inner/.gitignore"}
    ignored = {"other.log", "build", "inner/x.tmp"}
    assert walked(tmp_path) == (always | {"tracked.log"}, ignored)
    assert not marker.exists()
    monkeypatch.setattr(ignoring.shutil, "which", lambda *_, **__: None)
    assert walked(tmp_path) == (always, ignored | {"tracked.log"})
