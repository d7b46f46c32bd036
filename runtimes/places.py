"""Where toolchains live outside the system's own trees, and how little of that a sandbox must see.

A table, because a toolchain's neighbours in a home folder are often secrets: ~/.cargo holds a
registry token beside its bin/, ~/.local/share the data of every desktop program.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

# Trees that every sandbox shows; nothing below them needs a bind of its own.
SYSTEM_TREES: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64")

# Below a home: what an executable's path starts with -> what to bind.
_HOME_PLACES: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    (".pyenv/versions/*", ("{match}",)),
    (".rbenv/versions/*", ("{match}",)),
    (".nodenv/versions/*", ("{match}",)),
    (".goenv/versions/*", ("{match}",)),
    (".plenv/versions/*", ("{match}",)),
    (".phpenv/versions/*", ("{match}",)),
    (".asdf/installs/*/*", ("{match}",)),
    (".local/share/asdf/installs/*/*", ("{match}",)),
    (".local/share/mise/installs/*/*", ("{match}",)),
    (".nvm/versions/*/*", ("{match}",)),
    (".config/nvm/versions/*/*", ("{match}",)),
    (".local/share/nvm/*", ("{match}",)),
    (".fnm/node-versions/*", ("{match}",)),
    (".local/share/fnm/node-versions/*", ("{match}",)),
    (".volta/tools/image/*/*", ("{match}",)),
    (".n/bin", (".n/bin", ".n/lib")),
    (".npm-global/*", (".npm-global/bin", ".npm-global/lib")),
    (".local/share/pnpm", (".local/share/pnpm",)),
    (".bun/bin", (".bun/bin",)),
    (".deno/bin", (".deno/bin",)),
    (".cargo/bin", (".cargo/bin", ".rustup/toolchains", ".rustup/settings.toml")),
    (".rustup/toolchains/*", ("{match}",)),
    (".local/share/uv/python/*", ("{match}",)),
    (".local/share/uv/tools/*", ("{match}",)),
    (".cache/pypoetry/virtualenvs/*", ("{match}",)),
    (".local/share/virtualenvs/*", ("{match}",)),
    (".virtualenvs/*", ("{match}",)),
    (".sdkman/candidates/*/*", ("{match}",)),
    (".jdks/*", ("{match}",)),
    (".dotnet", (".dotnet/dotnet", ".dotnet/host", ".dotnet/sdk", ".dotnet/shared")),
    (".rvm/rubies/*", ("{match}", ".rvm/gems")),
    (".rubies/*", ("{match}",)),
    (".ghcup/bin", (".ghcup/bin",)),
    (".juliaup/bin", (".juliaup/bin",)),
    (".linuxbrew/*", (".linuxbrew/bin", ".linuxbrew/lib", ".linuxbrew/opt", ".linuxbrew/Cellar")),
    ("go/bin", ("go/bin",)),
    ("sdk/go*", ("{match}",)),
)

# Outside a home: the prefix that one installation fills.
_OTHER_PLACES: Final = ("/opt/*", "/nix/store", "/snap/*", "/home/linuxbrew/.linuxbrew")

# Folders of a home that hold more than one program's files, whatever lies in them.
_SHARED: Final = frozenset({".local", ".config", ".cache", ".cargo", ".ssh", ".gnupg", ".aws"})


def is_system(path: Path) -> bool:
    """Whether every sandbox shows this path anyway."""
    return any(path.is_relative_to(tree) for tree in SYSTEM_TREES)


def binds_for(path: Path, home: Path, *, is_named_by_project: bool = False) -> tuple[str, ...]:
    """The least set of existing paths that an executable at `path` needs, itself at least.

    An installation at an unknown place is bound whole only if it has `bin` and `lib` side by side,
    and, where a project's environment names it, Python's own library: a project could name the
    folder of another. A folder that programs share is never bound whole.
    """
    if is_system(path):
        return ()
    if path.is_relative_to(home):
        inside = path.relative_to(home)
        for pattern, binds in _HOME_PLACES:
            if match := _leading(inside, pattern):
                return _existing(home / bind.format(match=match) for bind in binds)
    for pattern in _OTHER_PLACES:
        if match := _leading(path, pattern):
            return _existing([Path(match)])
    prefix = path.parent.parent
    looks_installed = path.parent.name == "bin" and (prefix / "lib").is_dir()
    if is_named_by_project:
        looks_installed = looks_installed and any(prefix.glob("lib*/py*/os.py"))
    return (str(prefix if looks_installed and _is_private(prefix, home) else path),)


def _is_private(prefix: Path, home: Path) -> bool:
    """Whether a prefix holds one installation: no home, nothing above one, no shared folder."""
    return not home.is_relative_to(prefix) and not (
        prefix.is_relative_to(home) and prefix.relative_to(home).parts[0] in _SHARED
    )


def _leading(path: Path, pattern: str) -> str | None:
    """The beginning of the path that the pattern matches, part by part."""
    wanted = Path(pattern).parts
    parts = path.parts[: len(wanted)]
    if len(parts) < len(wanted) or not all(map(fnmatchcase, parts, wanted)):
        return None
    return str(Path(*parts))


def _existing(paths: Iterable[Path]) -> tuple[str, ...]:
    return tuple(str(path) for path in paths if path.exists())
