"""Version managers: from a shim, which is slow or not itself a program, to what it would start.

Read off the disk the way each manager documents it; nothing is run. pyenv and its kin:
`PYENV_VERSION`, `.python-version` up the tree, `$PYENV_ROOT/version`. asdf and mise:
`.tool-versions` up the tree, then in the home. rustup: `RUSTUP_TOOLCHAIN`,
`rust-toolchain[.toml]` up the tree, the default in `settings.toml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from base.plain_files import read_head


class Shim(NamedTuple):
    """A resolved shim: the programs it may start, best first, or why there is none.

    `watch` are the files that decided.
    """

    targets: tuple[Path, ...] = ()
    watch: tuple[Path, ...] = ()
    reason: str = ""


class _VersionManager(NamedTuple):
    variable: str
    file: str


# The name of the manager's root folder -> where it reads the wanted version.
_ENV_MANAGERS: Final = {
    "pyenv": _VersionManager("PYENV_VERSION", ".python-version"),
    "rbenv": _VersionManager("RBENV_VERSION", ".ruby-version"),
    "nodenv": _VersionManager("NODENV_VERSION", ".node-version"),
    "goenv": _VersionManager("GOENV_VERSION", ".go-version"),
    "plenv": _VersionManager("PLENV_VERSION", ".perl-version"),
    "phpenv": _VersionManager("PHPENV_VERSION", ".php-version"),
}

# How asdf and mise call what provides an executable.
_TOOLS: Final[Mapping[str, tuple[str, ...]]] = {
    "python": ("python",),
    "python3": ("python",),
    "ruby": ("ruby",),
    "node": ("nodejs", "node"),
    "go": ("golang", "go"),
    "elixir": ("elixir",),
    "erl": ("erlang",),
    "java": ("java",),
    "javac": ("java",),
    "lua": ("lua",),
    "php": ("php",),
    "perl": ("perl",),
    "Rscript": ("R",),
    "rustc": ("rust",),
    "bun": ("bun",),
    "deno": ("deno",),
    "dotnet": ("dotnet", "dotnet-core"),
}


def resolve(path: Path, project: Path | None, home: Path, environ: Mapping[str, str]) -> Shim:
    """What an executable found on the search path stands for: itself, unless it is a shim."""
    root = path.parent.parent
    if path.parent.name == "shims":
        if (root / "installs").is_dir():
            return _tool_version(path.name, root, project, home)
        if (root / "versions").is_dir():
            return _env_version(path.name, root, project, environ)
    if path.is_symlink() and path.resolve().name in ("rustup", "rustup-init"):
        return _rustup(path, project, home, environ)
    return Shim((path,))


def _env_version(name: str, root: Path, project: Path | None, environ: Mapping[str, str]) -> Shim:
    manager = _ENV_MANAGERS.get(root.name.lstrip("."), _ENV_MANAGERS["pyenv"])
    wanted = environ.get(manager.variable, "").split(":")
    watch: list[Path] = []
    if not any(wanted):
        for file in (*_upwards(project, manager.file), root / "version"):
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
        return Shim(tuple(targets), tuple(watch))
    asked = ", ".join(filter(None, wanted)) or "no version"
    return Shim((), tuple(watch), f"{root} is set to {asked}, which has no {name}")


def _tool_version(name: str, root: Path, project: Path | None, home: Path) -> Shim:
    tools = _TOOLS.get(name, (name,))
    files = [*_upwards(project, ".tool-versions"), home / ".tool-versions"]
    watch = [file for file in files if file.is_file()]
    for file in watch:
        for line in _read(file).splitlines():
            tool, *versions = line.split("#")[0].split() or [""]
            if tool not in tools:
                continue
            found = _targets(root, tools, versions, name)
            if found:
                return Shim(tuple(found), tuple(watch))
    # With nothing pinned the newest installed version is as good a guess as the manager's own.
    if found := _targets(root, tools, [""], name):
        return Shim(tuple(found), tuple(watch))
    return Shim((), tuple(watch), f"{root} has no installed version with {name}")


def _targets(root: Path, tools: Iterable[str], versions: Iterable[str], name: str) -> list[Path]:
    return [
        folder / "bin" / name
        for version in versions
        for tool in tools
        for folder in _find_installed(root / "installs" / tool, version)
        if (folder / "bin" / name).is_file()
    ]


def _rustup(path: Path, project: Path | None, home: Path, environ: Mapping[str, str]) -> Shim:
    """The toolchain's own program; the proxy itself when no toolchain is there to be read, so that
    running it tells why."""
    root = Path(environ.get("RUSTUP_HOME") or home / ".rustup")
    settings = root / "settings.toml"
    pins = [*_upwards(project, "rust-toolchain.toml"), *_upwards(project, "rust-toolchain")]
    watch = (*[pin for pin in pins if pin.is_file()], settings)
    wanted = (
        environ.get("RUSTUP_TOOLCHAIN")
        or next(filter(None, map(_read_pinned_toolchain, watch[:-1])), "")
        or str(_toml(settings).get("default_toolchain", ""))
    )
    if not wanted or _leads_elsewhere(wanted):
        return Shim((path,), watch)
    folders = [root / "toolchains" / wanted, *sorted((root / "toolchains").glob(f"{wanted}-*"))]
    for folder in folders:
        if (folder / "bin" / path.name).is_file():
            return Shim((folder / "bin" / path.name,), watch)
    return Shim((path,), watch)


def _read_pinned_toolchain(file: Path) -> str:
    table = _toml(file).get("toolchain")
    if isinstance(table, dict):
        return str(table.get("channel", ""))
    words = [] if file.suffix == ".toml" else _read(file).split()
    return words[0] if words else ""


def _find_installed(versions: Path, wanted: str) -> Iterator[Path]:
    """The folder of a version, or of the newest that begins with it (`3.12` means `3.12.*`)."""
    if wanted == "system" or _leads_elsewhere(wanted):
        return
    if wanted and (versions / wanted).is_dir():
        yield versions / wanted
        return
    prefix = f"{wanted}." if wanted else ""
    if versions.is_dir():
        matching = [v for v in versions.iterdir() if v.is_dir() and v.name.startswith(prefix)]
        yield from sorted(matching, key=_numbers, reverse=True)[:1]


def _leads_elsewhere(version: str) -> bool:
    """Return whether a version, which a project may name, is a path out of the manager's folder.

    Programs of the sandbox would be shown what lies there.
    """
    return version.startswith("/") or ".." in version.split("/")


def _numbers(folder: Path) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", folder.name))


def _upwards(folder: Path | None, name: str) -> list[Path]:
    """Return where a file of a name is looked for: in the project, and in the folders above it.

    One of the project's that is a link may lead to a secret, and the version that it asks for is
    shown.
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
    import tomllib  # noqa: PLC0415 - few version managers write it

    try:
        return tomllib.loads(_read(file))
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}
