"""What git would obey in a project: which of a repository's files, and what those lead to."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from base.plain_files import open_plain
from policy import real_path

# A bare repository's own folder has a HEAD, and one of these: where `objects` lies elsewhere,
# `commondir` says where.
BARE_PARTS = frozenset({"objects", "commondir"})
CONFIGURATIONS = ("config", "config.worktree")
CONFIGURATION_BYTES_MAX = 1 << 20
# git-config(1): what names a file or folder that git obeys. `path` is an include's, or a program's.
_FILES = frozenset({"hookspath", "path", "attributesfile", "templatedir"})
# What names a command that git starts without being told to: the files of ours in it are obeyed.
_COMMANDS = re.compile(
    "fsmonitor|sshcommand|askpass|pager|editor|gitproxy|external|command|textconv|clean|smudge"
    "|process|driver|helper|program|defaultkeycommand|packobjectshook|alternaterefscommand"
    "|receivepack|uploadpack"
)
WORDS_MAX = 64  # of a command; more of them are arguments
_SETTING = re.compile(
    r"^[ \t]*(?:\[[^]\n]*\][ \t]*)?([a-z][a-z0-9-]*)[ \t]*=[ \t]*(.*?)[ \t]*(?:[#;].*)?$",
    re.I | re.M,
)
_PAGER_SECTION = re.compile(r"^[ \t]*\[[ \t]*pager[ \t]*\]([^\[]*)", re.I | re.M)
_WORKTREE = re.compile(r'^[ \t]*worktree[ \t]*=[ \t]*"?(.*?)"?[ \t]*$', re.I | re.M)


def find_configured(project: Path, git: str) -> Iterator[str]:
    """Absolute paths in the project that a repository's configuration names, existing or not.

    Folders of hooks, more configuration, and files of the commands that git starts by itself.
    `git` is the repository's own folder, relative to the project.
    """
    top = str(project)
    own = os.path.join(top, git)
    yield from _find_named([os.path.join(own, name) for name in CONFIGURATIONS], top, own)


def find_outside(project: Path, home: Path) -> Iterator[str]:
    """What `configured` gives, of configuration outside: the user's, a worktree's repository's."""
    files = [f"{home}/.gitconfig", f"{home}/.config/git/config", "/etc/gitconfig"]
    files += [f"{folder}/{name}" for folder in find_linked(project) for name in CONFIGURATIONS]
    yield from _find_named(files, str(project), f"{project}/.git")


def _find_named(files: list[str], top: str, own: str) -> Iterator[str]:
    pending = [*files]
    met = set(pending)
    while pending:
        file = pending.pop()
        for path, is_more in _parse_paths(_text(file), os.path.dirname(own), os.path.dirname(file)):
            if path in met:
                continue
            met.add(path)
            is_inside = path.startswith(f"{top}/")
            if is_more and (is_inside or not file.startswith(f"{top}/")):
                pending.append(path)
            if is_inside:
                yield path


def _parse_paths(text: str, tree: str, beside: str) -> Iterator[tuple[str, bool]]:
    """Paths that a configuration names, and whether each may be more of it.

    Hooks and commands start in `tree`, the working tree's top folder; an include is sought beside.
    """
    for key, value in _SETTING.findall(text):
        name = key.lower()
        if name in _FILES:
            base = beside if name == "path" else tree
            yield _path(base, value.strip('"')), name == "path"
        elif _COMMANDS.fullmatch(name):
            yield from ((path, False) for path in _files_of(value, tree))
    for section in _PAGER_SECTION.findall(text):
        for _, value in _SETTING.findall(section):
            yield from ((path, False) for path in _files_of(value, tree))


def _files_of(command: str, tree: str) -> Iterator[str]:
    """The files that a command's words may name; a word without a slash only if it is one."""
    plain = command.replace("\\", "").replace('"', " ").replace("'", " ")
    for at, word in enumerate(plain.lstrip("! ").split()[:WORDS_MAX]):
        path = _path(tree, word.rpartition("=")[2])
        if ("/" in word or (at and os.path.lexists(path))) and not os.path.isdir(path):
            yield path


def _path(base: str, value: str) -> str:
    return os.path.normpath(os.path.join(base, os.path.expanduser(value)))


def _text(path: str) -> str:
    try:
        with open_plain(path) as file:
            return file.read(CONFIGURATION_BYTES_MAX).decode("utf-8", "replace")
    except OSError:  # missing, a folder of hooks, or what never ends
        return ""


def find_linked(project: Path) -> tuple[str, ...]:
    """The folder outside the project that a worktree's or submodule's `.git` file leads to.

    Only a repository that knows the project in turn: whoever packed the project up chose what the
    file says, and could name any repository of the person who unpacks it.
    """
    word, _, place = _text(f"{project}/.git").strip().partition(": ")
    if "\0" in place:
        return ()
    folder = Path(real_path(f"{project / place}"))
    if word != "gitdir" or not os.path.isfile(folder / "HEAD"):
        return ()
    if folder.is_relative_to(project) or not _knows(folder, project):
        return ()
    common = Path(real_path(f"{folder / _text(f'{folder}/commondir').strip()}"))
    is_whole = (common / "objects").is_dir() and folder.is_relative_to(common)
    return (str(common),) if is_whole else ()


def _knows(folder: Path, project: Path) -> bool:
    """Whether a git folder says that this project is its worktree, or its submodule."""
    places = [_text(f"{folder}/gitdir").strip()]  # of a worktree
    texts = "".join(_text(f"{folder}/{name}") for name in CONFIGURATIONS)
    places += [f"{place}/.git" for place in _WORKTREE.findall(texts)]  # of a submodule
    return any(place and real_path(f"{folder / place}") == f"{project}/.git" for place in places)
