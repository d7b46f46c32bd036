"""Real shell commands: of what is installed, of given projects, of given tldr pages.

Nothing is run but `man`, `col` and `bash -n`, which only reads. The texts belong to those who wrote
them: they are for measuring, and none is kept here.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from benchmarks.project_commands import (
    Found,
    files_below,
    is_synopsis,
    join_continued,
    name_plainly,
    project_commands,
    read_text,
    strip_margin,
)
from policy.wordlist import word_set

MANUALS = Path("/usr/share/man/man1")
PACKAGES = tuple(
    map(Path, ("/usr/lib/node_modules", "/usr/share/nodejs", "/usr/local/lib/node_modules"))
)
FAMILY_MAX = 25  # manuals of one family: `git-log`, `git-add` …
CHARACTERS_MAX = 20_000  # longer commands are left out
SEED = 15
PROSE = word_set(
    "a an and are as at be by can does for from has have if in is it may must not of on or should "
    "that the then this to uses was when which will with you your"
)


def collect_commands(folders: Sequence[Path], tldr: Path | None, total: int) -> list[Found]:
    """A sample of so many commands at most, the same ones each time, spread over the origins.

    Each source has chances of its own, so that one more does not change what the others give.
    """
    found = [*manual_commands(random.Random(SEED)), *package_scripts([*PACKAGES, *folders])]
    found += tldr_commands(tldr, random.Random(SEED)) if tldr else []
    for folder in folders:
        found += project_commands(folder)
    return sample_evenly(drop_repeated(found), total, random.Random(SEED))


def read_commands(file: Path) -> list[Found]:
    """Commands that somebody collected: a line of JSON each, with `command` and `origin`."""
    rows = map(json.loads, file.read_text("utf-8").splitlines())
    return [Found(row["command"], row["origin"], str(file)) for row in rows]


def drop_repeated(found: Iterable[Found]) -> list[Found]:
    """Each command once, without empty, comment-only and overlong ones."""
    kept: dict[str, Found] = {}
    for one in found:
        lines = one.command.splitlines()
        has_code = any(line.strip() and not line.lstrip().startswith("#") for line in lines)
        if has_code and len(one.command) <= CHARACTERS_MAX and "\0" not in one.command:
            kept.setdefault(" ".join(one.command.split()), one)
    return list(kept.values())


def sample_evenly(found: Iterable[Found], total: int, chance: random.Random) -> list[Found]:
    """So many commands that bash can read: small origins whole, the rest shared evenly."""
    groups: dict[str, list[Found]] = defaultdict(list)
    for one in found:
        groups[one.origin].append(one)
    for group in groups.values():
        chance.shuffle(group)
    chosen: list[Found] = []
    for at, group in enumerate(sorted(groups.values(), key=len)):
        wanted = (total - len(chosen)) // (len(groups) - at)
        readable = (one for one in group if _is_readable(one.command))
        chosen += [one for one, _ in zip(readable, range(wanted), strict=False)]
    return chosen


def _is_readable(command: str) -> bool:
    """Whether bash can read the command."""
    done = subprocess.run(["bash", "-n"], input=command.encode(), capture_output=True, check=False)
    return done.returncode == 0 and b"warning" not in done.stderr


# Manuals


def manual_commands(chance: random.Random) -> Iterator[Found]:
    """Commands of the examples in manuals."""
    for page in _choose_pages(chance):
        programs = {_program_of(page), _family_of(page), "sudo"}
        for command in _commands_of_examples(_example_lines(_render(page)), programs):
            if not is_synopsis(command):
                yield Found(name_plainly(command), "manual", page.name)


def _program_of(page: Path) -> str:
    """`git-log.1.gz` is a page of git-log."""
    return page.name.split(".")[0]


def _family_of(page: Path) -> str:
    """The pages of one big program (`git-…`, `gcloud_…`) are one family."""
    return re.split("[-_]", _program_of(page))[0]


def _choose_pages(chance: random.Random) -> list[Path]:
    """A sample of the pages with examples, so many of each family at most."""
    families: dict[str, list[Path]] = defaultdict(list)
    for page in sorted(MANUALS.glob("*.gz")):
        if not page.is_symlink():
            families[_family_of(page)].append(page)
    chosen = []
    for pages in families.values():
        chance.shuffle(pages)
        with_examples = filter(_has_examples, pages)
        chosen += [page for page, _ in zip(with_examples, range(FAMILY_MAX), strict=False)]
    return sorted(chosen)


def _has_examples(page: Path) -> bool:
    try:
        with gzip.open(page, "rt", encoding="utf-8", errors="replace") as text:
            heading = r'^\.S[Hh] +"?.*EXAMPLE'
            return re.search(heading, text.read(), re.MULTILINE | re.IGNORECASE) is not None
    except OSError:
        return False


def _render(page: Path) -> str:
    """The page as `man` shows it, in plain characters and long lines."""
    long_lines = {**os.environ, "MANWIDTH": "400", "MAN_KEEP_FORMATTING": ""}
    show = ["man", "--nh", "--nj", "-l", "-Tascii", str(page)]
    shown = subprocess.run(show, capture_output=True, env=long_lines, check=False).stdout
    plain = subprocess.run(["col", "-bx"], input=shown, capture_output=True, check=False)
    return plain.stdout.decode("utf-8", "replace")


def _example_lines(text: str) -> list[str]:
    """The lines of the sections of examples."""
    lines, inside = [], False
    for line in text.splitlines():
        if line[:1].strip():
            inside = "EXAMPLE" in line.upper()
        elif inside:
            lines.append(line.rstrip())
    return lines


def _commands_of_examples(lines: list[str], programs: set[str]) -> Iterator[str]:
    """Lines after a prompt, and indented lines that call the page's own program."""
    for text in join_continued(lines):
        line = text.strip()
        prompt = re.match(r"(?:[\w@~:-]*[$%#]|>) +(?=\S)", line)
        after = line[prompt.end() :] if prompt else line
        is_shell_prompt = prompt is not None and prompt[0].rstrip().endswith("$")
        if is_shell_prompt or _is_call(after, programs):
            yield strip_margin(after)


def _is_call(line: str, programs: set[str]) -> bool:
    """Whether a line begins with one of the programs and does not go on as a sentence."""
    words = line.split()
    if not words or words[0] not in programs or line[-1] in ".:,;":
        return False
    is_prose = len(words) > 1 and words[1].lower() in PROSE
    return not is_prose and sum(word in PROSE for word in words) < 3


# Packages and tldr pages


def package_scripts(folders: Iterable[Path]) -> Iterator[Found]:
    """Commands that the packages below some folders name as their scripts."""
    for folder in folders:
        for path in files_below(folder, "package.json"):
            try:
                scripts = json.loads(read_text(path)).get("scripts", {})
            except (ValueError, AttributeError):
                continue
            for script in scripts.values() if isinstance(scripts, dict) else ():
                if isinstance(script, str) and script.strip():
                    yield Found(script.strip(), "package", str(path))


def tldr_commands(folder: Path, chance: random.Random) -> Iterator[Found]:
    """Commands of tldr pages, without those that hold keys to press."""
    for page in files_below(folder, "*.md"):
        for line in read_text(page).splitlines():
            if not re.fullmatch(r"`[^`].*`", line):
                continue
            command = re.sub(r"\{\{(.*?)\}\}", lambda match: _fill_in(match[1], chance), line[1:-1])
            command = command.replace("\\{\\{", "{{").replace("\\}\\}", "}}").strip()
            if not re.search(r"<(?:Ctrl|Alt|Enter|Esc|Shift|Tab|[a-z0-9]{1,2})\b[^>]*>", command):
                yield Found(name_plainly(command), "tldr", str(page))


def _fill_in(placeholder: str, chance: random.Random) -> str:
    """What a person would write for `{{[-m|--message]}}`, `{{start|stop}}`, `{{path/to/file}}`."""
    if placeholder[:1] == "[" and placeholder[-1] == "]":
        return chance.choice(placeholder[1:-1].split("|"))
    choices = [each for each in placeholder.split("|") if each and each not in ("...", "etc.")]
    word = re.sub(r"\s*\.\.\.$", "", choices[0] if choices else "value").strip()
    is_list = all(re.search(r"[/\d.=:-]", part) for part in word.split())
    return word if is_list else re.sub(r"\s+", "_", word)
