"""The verb `doctor packages`: lock, fetch, list or remove the packages that programs import."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

from ctxmode.commands.run import ask_consent
from ctxmode.errors import (
    ContextModeError,
    UsageError,
    command,
    describe_empty,
    unknown_id,
    why,
)
from ctxmode.launch import with_app_of
from ctxmode.operations.operation import Answer, Arg, Asker, Operation
from ctxmode.render.highlight import age, size
from ctxmode.render.terminal_output import for_review
from executor import Caller, Request
from executor.packages import LayerStore
from runtimes import UnknownLanguage
from runtimes import language as find_language

if TYPE_CHECKING:
    from ctxmode.app import App
    from executor.engine import PackagesAnswer
    from executor.packages import LayerInfo

KEY_SHOWN = 12


Language: TypeAlias = Annotated[str, Arg("language (default: python)", "NAME")]
Specs: TypeAlias = Annotated[tuple[str, ...], Arg(metavar="SPEC")]
Folder: TypeAlias = Annotated[str, Arg("write the lock files to this folder", "DIR")]
Fresh: TypeAlias = Annotated[bool, Arg("lock again, to the newest versions")]


def _open_layers(asker: Asker) -> LayerStore:
    return LayerStore(asker.config.state_dir / "packages")


def list_layers(asker: Asker) -> Answer:
    """List the stored package layers, the one used last first."""
    kept = _open_layers(asker).layers()
    now = time.time()
    lines = [
        f"{one.key[:KEY_SHOWN]}  {one.ecosystem:<10}  {size(one.bytes):>9}  "
        f"used {age(now - one.used_at):>6} ago  {one.packages}"
        for one in kept
    ]
    text = "\n".join(lines) or describe_empty("package layer")
    return Answer({"layers": [_to_json(one) for one in kept]}, for_review(text))


def lock_packages(
    asker: Asker,
    specs: Specs,
    *,
    language: Language = "python",
    to: Folder = "",
    fresh: Fresh = False,
) -> Answer:
    """Print what packages are pinned to."""
    return _have(asker, specs, language, to, fresh=fresh, fetch=False)


def add_packages(
    asker: Asker,
    specs: Specs,
    *,
    language: Language = "python",
    to: Folder = "",
    fresh: Fresh = False,
) -> Answer:
    """Fetch packages now, for runs without a network."""
    return _have(asker, specs, language, to, fresh=fresh, fetch=True)


def _have(
    asker: Asker, specs: Sequence[str], language: str, to: str, *, fresh: bool, fetch: bool
) -> Answer:
    try:
        name = find_language(language).name
    except UnknownLanguage as error:
        raise UsageError(str(error), "Name one of the known languages.") from error

    request = Request(name, packages=tuple(specs))

    async def have(app: App) -> PackagesAnswer:
        caller = Caller(consent=ask_consent)
        return await app.packages(request, caller, fetch=fetch, fresh=fresh)

    had = with_app_of(asker.config, have, request)
    written = _write(had, Path(to)) if to else []
    data = {
        "ecosystem": had.ecosystem,
        "key": had.key,
        "was_kept": had.was_kept,
        "files": {name: content.decode(errors="replace") for name, content in had.files.items()},
        "written": written,
    }
    return Answer(data, for_review(_word(had, written)))


def _word(had: PackagesAnswer, written: list[str]) -> str:
    if written:
        return "\n".join(f"wrote {path}" for path in written)
    if had.key is not None:
        return f"{had.key[:KEY_SHOWN]} {'was kept' if had.was_kept else 'is kept now'}"
    texts = [content.decode(errors="replace").rstrip("\n") for content in had.files.values()]
    return "\n".join(texts)


def _write(had: PackagesAnswer, folder: Path) -> list[str]:
    """Write a lock's files into a folder; raise UsageError if one exists there."""
    paths = [folder / name for name in had.files]
    for path in paths:
        if path.exists() or path.is_symlink():
            raise UsageError(f"{path} is there already", "Move it away, or name another folder.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, content in zip(paths, had.files.values(), strict=True):
            with open(path, "xb") as file:
                file.write(content)
    except OSError as error:
        raise ContextModeError(
            f"the lock cannot be written to {folder}: {why(error)}", "Name another folder."
        ) from error
    return list(map(str, paths))


def remove_layers(
    asker: Asker,
    keys: Annotated[tuple[str, ...], Arg(metavar="KEY")] = (),
    *,
    with_all: Annotated[bool, Arg("remove all layers and locks", flags=("--all",))] = False,
) -> Answer:
    """Remove package layers."""
    if with_all == bool(keys):
        problem = "KEY and --all exclude each other" if with_all else "missing KEY"
        usage = " or ".join(command(f"doctor packages remove {it}") for it in ("KEY...", "--all"))
        raise UsageError(f"doctor packages remove: {problem}", f"Usage: {usage}")
    store = _open_layers(asker)
    kept = [one.key for one in store.layers()]
    wanted = list(kept) if with_all else [_find(word, kept) for word in keys]
    forgotten = store.forget_locks() if with_all else 0
    removed = [key for key in wanted if store.remove(key)]
    busy = [f"{key[:KEY_SHOWN]} is in use, and stays" for key in wanted if key not in removed]
    text = "\n".join(f"removed {key[:KEY_SHOWN]}" for key in removed) or "nothing was removed"
    data = {"removed": removed, "locks_forgotten": forgotten}
    return Answer(data, text, busy, is_failure=bool(busy))


def _find(word: str, kept: list[str]) -> str:
    """Return the one key that begins with a text; raise UsageError for none or several."""
    found = [key for key in kept if key.startswith(word)]
    if len(found) != 1:
        shown = (key[:KEY_SHOWN] for key in found)
        raise unknown_id("package layer", word, shown, is_empty=not kept)
    return found[0]


def _to_json(one: LayerInfo) -> dict[str, object]:
    return {
        "key": one.key,
        "ecosystem": one.ecosystem,
        "packages": one.packages,
        "bytes": one.bytes,
        "entries": one.entries,
        "made_at": one.made_at,
        "used_at": one.used_at,
    }


OPERATIONS: dict[str, Operation] = {
    "list": list_layers,
    "lock": lock_packages,
    "add": add_packages,
    "remove": remove_layers,
}
DEFAULT_ACTION = "list"
