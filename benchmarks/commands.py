"""Real shell commands: of installed packages, and of projects that are named.

Nothing is run but `bash -n`, which only reads. The texts belong to those who wrote them: they are
for measuring, and none is kept here.
"""

from __future__ import annotations

import html
import json
import random
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import yaml

from base.wordlist import word_set

PACKAGES = ("/usr/lib/node_modules", "/usr/share/nodejs", "/usr/local/lib/node_modules")
CHARACTERS_MAX = 20_000  # longer commands are left out
SEED = 15
SHELL_BLOCKS = word_set("sh bash shell zsh console shell-session shellsession terminal")


Found = tuple[str, str]
"""A command, and the kind of text it stands in."""


def collect_commands(projects: Sequence[Path], total: int) -> list[Found]:
    """Return up to so many commands, the same each time, spread over the origins."""
    found = list(package_scripts([*map(Path, PACKAGES), *projects]))
    for folder in projects:
        found += project_commands(folder)
    return sample_evenly(drop_repeated(found), total, random.Random(SEED))


def read_commands(file: Path) -> list[Found]:
    """Return commands that somebody collected: lines of JSON with `command` and `origin`."""
    rows = map(json.loads, file.read_text("utf-8").splitlines())
    return [(row["command"], row["origin"]) for row in rows]


def drop_repeated(found: Iterable[Found]) -> list[Found]:
    """Return each command once, without those that are empty, only comments, or too long."""
    kept: dict[str, Found] = {}
    for command, origin in found:
        lines = command.splitlines()
        has_code = any(line.strip() and not line.lstrip().startswith("#") for line in lines)
        if has_code and len(command) <= CHARACTERS_MAX and "\0" not in command:
            kept.setdefault(" ".join(command.split()), (command, origin))
    return list(kept.values())


def sample_evenly(found: Iterable[Found], total: int, chance: random.Random) -> list[Found]:
    """Return so many commands that bash can read: small origins whole, the rest shared evenly."""
    groups: dict[str, list[Found]] = defaultdict(list)
    for one in found:
        groups[one[1]].append(one)
    for group in groups.values():
        chance.shuffle(group)
    chosen: list[Found] = []
    for at, group in enumerate(sorted(groups.values(), key=len)):
        wanted = (total - len(chosen)) // (len(groups) - at)
        readable = (one for one in group if _is_readable(one[0]))
        chosen += [one for one, _ in zip(readable, range(wanted), strict=False)]
    return chosen


def _is_readable(command: str) -> bool:
    done = subprocess.run(["bash", "-n"], input=command.encode(), capture_output=True, check=False)
    return done.returncode == 0 and b"warning" not in done.stderr


def package_scripts(folders: Iterable[Path]) -> Iterator[Found]:
    """Yield the scripts that packages of npm name."""
    for path in [path for folder in folders for path in _files_below(folder, "package.json")]:
        try:
            scripts = json.loads(_read(path)).get("scripts", {})
        except (ValueError, AttributeError):
            continue
        for script in scripts.values() if isinstance(scripts, dict) else ():
            if isinstance(script, str) and script.strip():
                yield script.strip(), "package"


def project_commands(folder: Path) -> Iterator[Found]:
    """Yield the commands of a project: CI steps, scripts, blocks of documents."""
    for path in _files_below(folder, "*.yml", "*.yaml"):
        if ".github" in path.parts and "workflows" in path.parts:
            yield from ((step, "ci") for step in run_steps(_read(path)))
    for path in _files_below(folder, "*.sh"):
        text = _read(path).strip()
        first = text.partition("\n")[0]
        if not first.startswith("#!") or re.search(r"\b(?:ba|z|k|da)?sh\b", first):
            yield text, "script"
    for path in _files_below(folder, "*.md", "*.markdown"):
        yield from ((each, "document") for each in shell_blocks(_read(path)))


def run_steps(text: str) -> Iterator[str]:
    """Yield the `run` steps of a workflow that a POSIX shell reads."""
    try:
        jobs = yaml.safe_load(text)["jobs"].values()
        steps = [step for job in jobs for step in job.get("steps", ())]
    except (yaml.YAMLError, TypeError, KeyError, AttributeError):
        return
    for step in steps:
        if re.match("pwsh|powershell|cmd|python", str(step.get("shell", ""))) or "run" not in step:
            continue
        yield re.sub(r"\$\{\{.*?\}\}", "value", str(step["run"]), flags=re.DOTALL).strip()


def shell_blocks(text: str) -> Iterator[str]:
    """Yield the commands of Markdown's blocks of shell: what stands after prompts, or a block."""
    fence = r"^[ \t]*(`{3,}|~{3,})[ \t{.]*([\w-]*)[^\n]*\n(.*?)^[ \t]*\1[`~]*[ \t]*$"
    for block in re.finditer(fence, text, re.MULTILINE | re.DOTALL):
        if block[2].lower() not in SHELL_BLOCKS:
            continue
        plain = html.unescape(re.sub(r"</?(?:font|span|b|u|i|div)\b[^>]*>", "", block[3]))
        prompted = re.findall(r"^[ \t]*\$ +((?:.*\\\n)*.*)$", plain, re.MULTILINE)
        for command in prompted or [plain]:
            if not is_synopsis(command):
                yield _name_plainly(command.strip())


def is_synopsis(text: str) -> bool:
    """Tell whether a text is a form (`ls [OPTION]... FILE`) and not a command."""
    form = r"\[[-A-Z<|]|\.\.\.|\u2026|(?<=\s)\[\w+\]|\{\{|\}\}"
    return re.search(form, text) is not None and "[[" not in text and "[ " not in text


def _name_plainly(text: str) -> str:
    """Write `<file name>`, as documents have it, as `file-name`."""
    found: str = re.sub(
        r"<([A-Za-z][\w. -]*)>", lambda match: re.sub(r"\W+", "-", match[1]).strip("-"), text
    )
    return found


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""


def _files_below(folder: Path, *patterns: str) -> list[Path]:
    """Return files whose names fit a pattern, in a fixed order, links left out."""
    found = {path for pattern in patterns for path in folder.rglob(pattern)}
    return sorted(path for path in found if path.is_file() and not path.is_symlink())
