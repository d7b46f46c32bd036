"""Places of toolchains outside the system's own trees, and the few paths that a sandbox must see.

A table, because a toolchain's neighbours in a home folder are often secrets: ~/.cargo holds a
registry token next to its bin/, ~/.local/share the data of every desktop program.
"""

from __future__ import annotations

import base64
import hashlib
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from base.plain_files import read_head
from runtimes.languages import list_languages, read_table

# Read from the disk the way each manager documents it; nothing is run. pyenv and similar:
# `PYENV_VERSION`, `.python-version` up the tree, `$PYENV_ROOT/version`. asdf and mise:
# `.tool-versions` up the tree, then in the home. rustup: `RUSTUP_TOOLCHAIN`,
# `rust-toolchain[.toml]` up the tree, the default in `settings.toml`.


Shim = tuple[tuple[Path, ...], tuple[Path, ...], str]
"""A resolved shim: the programs it may start, best first, deciding files, the reason if none."""


_TABLE: Final = tomllib.loads(Path(__file__).with_name("places.toml").read_text("utf-8"))
# The name of the manager's root folder -> the variable and file with the wanted version.
_ENV_MANAGERS: Final[Mapping[str, tuple[str, str]]] = _TABLE["env_managers"]


def resolve(path: Path, project: Path | None, home: Path, environ: Mapping[str, str]) -> Shim:
    """Resolve an executable found on the search path: itself, unless it is a shim."""
    root = path.parent.parent
    if path.parent.name == "shims":
        if (root / "installs").is_dir():
            return _tool_version(path.name, root, project, home)
        if (root / "versions").is_dir():
            return _env_version(path.name, root, project, environ)
    if path.is_symlink() and path.resolve().name in ("rustup", "rustup-init"):
        return _rustup(path, project, home, environ)
    return (path,), (), ""


def _env_version(name: str, root: Path, project: Path | None, environ: Mapping[str, str]) -> Shim:
    manager = root.name.lstrip(".")
    variable, named_file = _ENV_MANAGERS.get(manager, _ENV_MANAGERS["pyenv"])
    wanted = environ.get(variable, "").split(":")
    watch: list[Path] = []
    if not any(wanted):
        for file in (*_upwards(project, named_file), root / "version"):
            watch.append(file)
            if words := _read(file).split():
                wanted = words
                break
    targets = [
        folder / "bin" / name
        for version in filter(None, wanted)
        for folder in _find_installed(root / "versions", version)
        if (folder / "bin" / name).is_file()
    ]
    if targets:
        return tuple(targets), tuple(watch), ""
    asked = ", ".join(filter(None, wanted)) or "no version"
    return (), tuple(watch), f"{root} is set to {asked}, which has no {name}"


def _tool_version(name: str, root: Path, project: Path | None, home: Path) -> Shim:
    tools = _name_tools(name)
    files = [*_upwards(project, ".tool-versions"), home / ".tool-versions"]
    watch = [file for file in files if file.is_file()]
    for file in watch:
        for line in _read(file).splitlines():
            tool, *versions = line.split("#")[0].split() or [""]
            if tool not in tools:
                continue
            found = _targets(root, tools, versions, name)
            if found:
                return tuple(found), tuple(watch), ""
    # If nothing is pinned, the newest installed version is as good a guess as the manager's own.
    if found := _targets(root, tools, [""], name):
        return tuple(found), tuple(watch), ""
    return (), tuple(watch), f"{root} has no installed version with {name}"


def _name_tools(executable: str) -> Sequence[str]:
    """Return how asdf and mise call what provides an executable: `tools` of `install.toml`."""
    for language in list_languages("install.toml"):
        tools: Mapping[str, Sequence[str]] = read_table(f"{language}/install.toml").get("tools", {})
        if found := tools.get(executable):
            return found
    return (executable,)


def _targets(root: Path, tools: Iterable[str], versions: Iterable[str], name: str) -> list[Path]:
    return [
        folder / "bin" / name
        for version in versions
        for tool in tools
        for folder in _find_installed(root / "installs" / tool, version)
        if (folder / "bin" / name).is_file()
    ]


def _rustup(path: Path, project: Path | None, home: Path, environ: Mapping[str, str]) -> Shim:
    """Return the toolchain's own program; the proxy itself if no toolchain is readable, as running
    that reports why."""
    root = Path(environ.get("RUSTUP_HOME") or home / ".rustup")
    settings = root / "settings.toml"
    pins = [*_upwards(project, "rust-toolchain.toml"), *_upwards(project, "rust-toolchain")]
    watch = (*[pin for pin in pins if pin.is_file()], settings)
    wanted = (
        environ.get("RUSTUP_TOOLCHAIN")
        or next(filter(None, map(_read_pinned_toolchain, watch[:-1])), "")
        or str(_toml(settings).get("default_toolchain", ""))
    )
    if not wanted or _points_outside(wanted):
        return (path,), watch, ""
    folders = [root / "toolchains" / wanted, *sorted((root / "toolchains").glob(f"{wanted}-*"))]
    for folder in folders:
        if (folder / "bin" / path.name).is_file():
            return (folder / "bin" / path.name,), watch, ""
    return (path,), watch, ""


def _read_pinned_toolchain(file: Path) -> str:
    table = _toml(file).get("toolchain")
    if isinstance(table, dict):
        return str(table.get("channel", ""))
    words = [] if file.suffix == ".toml" else _read(file).split()
    return words[0] if words else ""


def _find_installed(versions: Path, wanted: str) -> Iterator[Path]:
    """Yield the folder of a version, or of the newest with that beginning."""
    if wanted == "system" or _points_outside(wanted):
        return
    if wanted and (versions / wanted).is_dir():
        yield versions / wanted
        return
    prefix = f"{wanted}." if wanted else ""
    if versions.is_dir():
        matching = [v for v in versions.iterdir() if v.is_dir() and v.name.startswith(prefix)]
        yield from sorted(matching, key=_numbers, reverse=True)[:1]


def _points_outside(version: str) -> bool:
    """Return whether a version, which a project may name, is a path out of the manager's folder.

    Programs of the sandbox would see that path.
    """
    return version.startswith("/") or ".." in version.split("/")


def _numbers(folder: Path) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", folder.name))


def _upwards(folder: Path | None, name: str) -> list[Path]:
    """Return where to look for a file of a name: in the project, and in the folders above it.

    A link in the project may point to a secret, and the requested version is shown.
    """
    if folder is None:
        return []
    own = folder / name
    above = [place / name for place in folder.parents]
    return above if own.is_symlink() else [own, *above]


def _read(file: Path) -> str:
    try:
        return read_head(file).decode("utf-8", "replace")
    except OSError:
        return ""


def _toml(file: Path) -> dict[str, object]:
    try:
        return tomllib.loads(_read(file))
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


_FOLDERS: Final = (".venv", "venv")
# A mark of set-up (setup.sh) in an environment that it made for this program itself.
_OWN_MARK: Final = ".ready-app"


def interpreters(project: Path, home: Path) -> Iterator[Path]:
    """List interpreters of the project's environments, best first (uv and PDM use `.venv` too)."""
    folders = [project / name for name in _FOLDERS]
    if (project / "pyproject.toml").is_file():
        folders += _poetry(project, home)
    for folder in folders:
        python = folder / "bin" / "python"
        if (folder / "pyvenv.cfg").is_file() and python.is_file():
            yield python


def is_own(python: Path) -> bool:
    """Return whether an interpreter belongs to the environment of this program's checkout.

    That has only this program's packages: the user more likely intends the system's.
    """
    return (python.parent.parent / _OWN_MARK).is_file()


def base_prefix(python: Path) -> Path | None:
    """Return the base installation of a virtual environment's interpreter, or None."""
    try:
        text = read_head(python.parent.parent / "pyvenv.cfg").decode("utf-8", "replace")
    except OSError:
        return None
    for line in text.splitlines():
        key, _, value = line.partition("=")
        if key.strip() == "home":
            return Path(value.strip()).parent
    return None


def _poetry(project: Path, home: Path) -> list[Path]:
    """Find Poetry's environments, named `<name>-<digest of the project's path>-py<version>`.

    Source: EnvManager.generate_env_name in Poetry: eight characters of the URL-safe base64 of the
    path's SHA-256.
    """
    digest = hashlib.sha256(str(project.resolve()).encode()).digest()
    key = base64.urlsafe_b64encode(digest).decode()[:8]
    return sorted((home / ".cache/pypoetry/virtualenvs").glob(f"*-{key}-py*"), reverse=True)


# Trees that every sandbox shows; paths below them need no separate bind.
SYSTEM_TREES: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64")

# Below a home: the beginning of an executable's path -> what to bind.
_HOME_PLACES: Final[Mapping[str, Sequence[str]]] = _TABLE["home_places"]

# Outside a home: the prefix that one installation fills.
_OTHER_PLACES: Final = ("/opt/*", "/nix/store", "/snap/*", "/home/linuxbrew/.linuxbrew")

# Folders of a home that hold files of several programs.
_SHARED: Final = frozenset({".local", ".config", ".cache", ".cargo", ".ssh", ".gnupg", ".aws"})


def is_system(path: Path) -> bool:
    """Return whether every sandbox shows this path anyway."""
    return any(path.is_relative_to(tree) for tree in SYSTEM_TREES)


def binds_for(path: Path, home: Path, *, is_named_by_project: bool = False) -> tuple[str, ...]:
    """Return the smallest set of existing paths that an executable at `path` needs, or itself.

    An installation at an unknown place is bound whole only if it has both `bin` and `lib`, and, if
    a project's environment names it, Python's own library: a project could name another's folder. A
    folder that programs share is never bound whole.
    """
    if is_system(path):
        return ()
    if path.is_relative_to(home):
        inside = path.relative_to(home)
        for pattern, binds in _HOME_PLACES.items():
            if match := _leading(inside, pattern):
                return _existing(home / bind.format(match=match) for bind in binds)
    for pattern in _OTHER_PLACES:
        if match := _leading(path, pattern):
            return _existing([Path(match)])
    prefix = path.parent.parent
    looks_installed = path.parent.name == "bin" and (prefix / "lib").is_dir()
    if is_named_by_project:
        looks_installed = looks_installed and any(prefix.glob("lib*/py*/os.py"))
    # One installation alone is bound whole: not a home, its parent, or what programs share.
    is_private = not home.is_relative_to(prefix) and not (
        prefix.is_relative_to(home) and prefix.relative_to(home).parts[0] in _SHARED
    )
    return (str(prefix if looks_installed and is_private else path),)


def _leading(path: Path, pattern: str) -> str | None:
    """Return the beginning of the path that the pattern matches, part by part."""
    wanted = Path(pattern).parts
    parts = path.parts[: len(wanted)]
    if len(parts) < len(wanted) or not all(map(fnmatchcase, parts, wanted)):
        return None
    return str(Path(*parts))


def _existing(paths: Iterable[Path]) -> tuple[str, ...]:
    return tuple(str(path) for path in paths if path.exists())
