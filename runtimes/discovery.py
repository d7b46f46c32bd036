"""Discovery of toolchains on the disk. Nothing is started: present is not runnable, and a probe in
the sandbox decides that."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from runtimes import places, registry
from runtimes.model import Candidate, HomeLibrary, Language, Toolchain

# A less preferred toolchain must be this much faster to be chosen, so that noise in two close
# measurements does not make the choice flip from one start to the next.
_CLEARLY_FASTER: Final = 0.75


def choose(
    runnable: Iterable[tuple[Candidate, float]], preferred: Sequence[str] = ()
) -> tuple[Candidate, float] | None:
    """Choose the candidate to use, of those that run and the ms that their hello programs took.

    The first of the `preferred` toolchains that runs is chosen, if any does. Otherwise an
    interpreter that belongs to the project outranks everything, then the lowest `rank` counts.
    Among different toolchains of one rank the fastest is chosen. Among several places of the same
    toolchain it is the first on the search path, as the user intends. None if none runs.
    """
    ordered = sorted(runnable, key=lambda one: one[0].order)
    for name in preferred:
        if named := [one for one in ordered if one[0].toolchain.name == name]:
            ordered = named
            break
    own = [one for one in ordered if one[0].project_specific]
    if own:
        return own[0]
    if not ordered:
        return None
    rank = min(candidate.toolchain.rank for candidate, _ in ordered)
    first_of_each: dict[str, tuple[Candidate, float]] = {}
    for candidate, start_ms in ordered:
        if candidate.toolchain.rank == rank:
            first_of_each.setdefault(candidate.toolchain.name, (candidate, start_ms))
    chosen, *others = first_of_each.values()
    for other in others:
        if other[1] < chosen[1] * _CLEARLY_FASTER:
            chosen = other
    return chosen


_ELF: Final = b"\x7fELF"
_ETC: Final = "/etc"
_NUMBER: Final = re.compile(r"\d+\.\d+(?:\.\d+)*(?:[-+~.\w]*\w)?")


Discovery = tuple[tuple[Candidate, ...], tuple[str, ...]]
"""Candidates that were found for a language, and skipped paths, each with its reason."""


class _Place(NamedTuple):
    """The places to look at."""

    search_path: tuple[str, ...]
    project: Path | None
    home: Path
    environ: Mapping[str, str]


class _Executable(NamedTuple):
    path: Path
    watch: tuple[Path, ...] = ()
    project_specific: bool = False
    is_named_by_project: bool = False


def candidates(
    language: Language,
    search_path: Sequence[str],
    project: Path | None,
    home: Path,
    environ: Mapping[str, str] | None = None,
) -> tuple[Candidate, ...]:
    """List the toolchains of a language that are on disk, in order of preference.

    `environ` is where version managers look for a pinned version (PYENV_VERSION and similar).
    """
    return discover(language, search_path, project, home, environ)[0]


def discover(
    language: Language,
    search_path: Sequence[str],
    project: Path | None,
    home: Path,
    environ: Mapping[str, str] | None = None,
) -> Discovery:
    """List the `candidates`, and the paths that were skipped."""
    place = _Place(tuple(search_path), project, home, environ or {})
    passed_over: list[str] = []
    found: list[Candidate] = []
    for toolchain in language.toolchains:
        found.extend(_of_toolchain(language, toolchain, place, passed_over))
    found.sort(key=lambda c: (places.is_own(Path(c.path)), not c.project_specific))
    binds, programs = _environments(place)
    ordered = tuple(
        c._replace(
            order=order, binds=_outermost((*c.binds, *binds), place.project), programs=programs
        )
        for order, c in enumerate(found)
    )
    return ordered, tuple(dict.fromkeys(passed_over))


def missing(language: Language, passed_over: Sequence[str] = ()) -> tuple[str, str]:
    """Return why a language cannot run, and what to install here."""
    wanted = " or ".join(
        " with ".join(names[0] for names in t.executables.values()) for t in language.toolchains
    )
    reason = "; ".join((f"found no {wanted} on PATH", *passed_over))
    return reason, registry.hint(language)


def _of_toolchain(
    language: Language, toolchain: Toolchain, place: _Place, passed_over: list[str]
) -> Iterator[Candidate]:
    (first, names), *others = toolchain.executables.items()
    seen: set[str] = set()
    executables: list[_Executable] = []
    for python in _interpreters(place) if toolchain.project_environment else ():
        watch = (python.parent.parent / "pyvenv.cfg",)
        is_own = places.is_own(python)
        executables.append(_Executable(python, watch, not is_own, is_named_by_project=True))
    for executable in (*executables, *_on_path(names, place, passed_over)):
        lead = executable._replace(path=_native(executable.path, toolchain))
        identity = str(lead.path if places.base_prefix(lead.path) else lead.path.resolve())
        if identity in seen:
            continue
        seen.add(identity)
        found = {first: lead}
        for role, role_names in others:
            mate = _find_companion(role_names, lead, place, passed_over)
            if mate is None:
                passed_over.append(f"{lead.path} needs {role_names[0]}, which is not on PATH")
                break
            found[role] = mate
        else:
            yield _candidate(language, toolchain, found, place)


def _environments(place: _Place) -> tuple[list[str], tuple[str, ...]]:
    """Find the files that the project's environments need of this machine, for any language.

    Returns the paths to show, and the folders of programs that they call by name: the scripts of
    `node_modules` call `node`.
    """
    if place.project is None:
        return [], ()
    binds = [
        bind
        for python in _interpreters(place)
        for path in _chain(python, python.resolve())
        for bind in places.binds_for(path, place.home, is_named_by_project=True)
    ]
    node = None
    if (place.project / "node_modules" / ".bin").is_dir():
        node = next(_on_path(("node",), place, []), None)
    if node is None or places.is_system(node.path):
        return binds, ()
    for path in _chain(node.path, node.path.resolve()):
        binds += places.binds_for(path, place.home)
    return binds, (str(node.path.parent),)


def _interpreters(place: _Place) -> Iterator[Path]:
    """Yield the interpreters of the project's environments, if links point to programs.

    A repository may have a link to any of the user's files in an interpreter's place.
    """
    if place.project is not None:
        for python in places.interpreters(place.project, place.home):
            if _is_program(python) and _is_native(python.resolve()):
                yield python


def _on_path(names: Iterable[str], place: _Place, passed_over: list[str]) -> Iterator[_Executable]:
    """Yield the executables of these names, shims replaced by their targets.

    Folder by folder, as a shell looks: an early folder's second name comes before a late folder's
    first.
    """
    for folder in dict.fromkeys(place.search_path):
        for name in names:
            path = Path(folder) / name
            if not _is_program(path):
                continue
            targets, watch, reason = places.resolve(path, place.project, place.home, place.environ)
            if reason:
                passed_over.append(f"{path}: {reason}")
            for target in targets:
                yield _Executable(_resolve_alternatives(target), watch)


def _find_companion(
    names: Sequence[str], lead: _Executable, place: _Place, passed_over: list[str]
) -> _Executable | None:
    """Find another executable of the same toolchain: next to the first, else on PATH."""
    near = place._replace(search_path=(str(lead.path.parent), *place.search_path))
    return next(iter(_on_path(names, near, passed_over)), None)


def _is_program(path: Path) -> bool:
    try:
        return path.is_absolute() and path.is_file() and os.access(path, os.X_OK)
    except OSError:
        return False


def _resolve_alternatives(path: Path) -> Path:
    """Return the target of a link through /etc, which sandboxes show in part; else the path."""
    at = path
    while at.is_symlink():
        target = Path(os.path.normpath(at.parent / at.readlink()))
        if at.is_relative_to(_ETC) or target.is_relative_to(_ETC):
            path = target
        at = target
    return path


def _native(path: Path, toolchain: Toolchain) -> Path:
    """Return the native program of a script that npm installed: starting node only to start another
    program costs more than the program."""
    if not toolchain.beside or _is_native(path):
        return path
    folder = path.resolve().parent
    for pattern in toolchain.beside:
        for found in sorted(folder.glob(pattern)):
            if _is_native(found):
                return found.resolve()
    return path


def _is_native(path: Path) -> bool:
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(len(_ELF)) == _ELF
    except OSError:
        return False


def _candidate(
    language: Language, toolchain: Toolchain, found: Mapping[str, _Executable], place: _Place
) -> Candidate:
    real = {role: executable.path.resolve() for role, executable in found.items()}
    binds: list[str] = []
    for role, executable in found.items():
        is_named = executable.is_named_by_project
        for path in _chain(executable.path, real[role]):
            binds += places.binds_for(path, place.home, is_named_by_project=is_named)
    for pattern in toolchain.reads:
        binds += sorted(str(p) for p in Path("/").glob(pattern.lstrip("/")))
    library_env, library_binds = _libraries(language.libraries, place.home)
    prints = []
    watched = [*real.values(), *(file for e in found.values() for file in e.watch)]
    for file in dict.fromkeys(watched):
        with suppress(OSError):
            stat = file.stat()
            prints.append((str(file), stat.st_mtime_ns, stat.st_size))
    return Candidate(
        language=language,
        toolchain=toolchain,
        paths={role: str(executable.path) for role, executable in found.items()},
        real_paths={role: str(path) for role, path in real.items()},
        binds=_outermost((*binds, *library_binds), place.project),
        fingerprint=tuple(prints),
        project_specific=next(iter(found.values())).project_specific,
        env=library_env,
    )


def _chain(path: Path, real: Path) -> Iterator[Path]:
    """Yield all places through which an executable is reached: each link, its end, and for a
    virtual environment its base installation."""
    at = path
    yield at
    while at.is_symlink():
        at = Path(os.path.normpath(at.parent / at.readlink()))
        yield at
    yield real
    base = places.base_prefix(path)
    if base and any(map(_is_native, base.glob("bin/python*"))):
        yield base / "bin" / "python"
        yield (base / "bin" / "python").resolve()


def _libraries(libraries: Iterable[HomeLibrary], home: Path) -> tuple[dict[str, str], list[str]]:
    env: dict[str, str] = {}
    binds: list[str] = []
    for library in libraries:
        paths = sorted(str(path) for path in home.glob(library.paths) if path.is_dir())
        if not paths:
            continue
        binds += paths
        value = library.value.format(home=home, paths=":".join(paths))
        env[library.env] = (
            f"{env[library.env].rstrip(':')}:{value}" if library.env in env else value
        )
    return env, binds


def _outermost(paths: Iterable[str], project: Path | None) -> tuple[str, ...]:
    """Return the paths that are not inside another one or the project, which is always shown."""
    kept: list[Path] = [project] if project else []
    for path in sorted({Path(path) for path in paths}, key=lambda path: len(path.parts)):
        if not any(path.is_relative_to(outer) for outer in kept):
            kept.append(path)
    return tuple(str(path) for path in kept[1 if project else 0 :])


def version_argv(candidate: Candidate) -> tuple[str, ...]:
    """Return the command that prints the version of the candidate's first executable."""
    return (candidate.path, *candidate.toolchain.version)


def parse_version(answer: str) -> str | None:
    """Find the first dotted number of an answer, with its suffix; None without one."""
    found = _NUMBER.search(answer)
    return found.group() if found else None
