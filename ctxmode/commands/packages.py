"""The verb `packages`: lock, fetch, list or remove the packages that programs import."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from ctxmode import exit_codes
from ctxmode.commands.run import ask_consent
from ctxmode.config.locations import load_config
from ctxmode.errors import (
    ContextModeError,
    UsageError,
    command,
    describe_empty,
    unknown_id,
    why,
)
from ctxmode.launch import print_answer, with_app
from ctxmode.render.highlight import age, size
from ctxmode.render.terminal_output import for_review
from executor import Caller, Request
from executor.packages import LayerStore
from runtimes import UnknownLanguage, language

if TYPE_CHECKING:
    from ctxmode.app import App
    from executor.engine import PackagesAnswer
    from executor.packages import LayerInfo

KEY_SHOWN = 12


def run(args: argparse.Namespace) -> int:
    if args.action in ("lock", "add"):
        return _have(args)
    store = LayerStore(load_config(args.project).state_dir / "packages")
    if args.action == "remove":
        return _remove(args, store)
    kept = store.layers()
    print_answer(args, {"layers": [_to_json(one) for one in kept]}, for_review(_list(kept)))
    return exit_codes.OK


def _list(kept: tuple[LayerInfo, ...]) -> str:
    if not kept:
        return describe_empty("package layer")
    now = time.time()
    return "\n".join(
        f"{one.key[:KEY_SHOWN]}  {one.ecosystem:<10}  {size(one.bytes):>9}  "
        f"used {age(now - one.used_at):>6} ago  {one.packages}"
        for one in kept
    )


def _have(args: argparse.Namespace) -> int:
    try:
        name = language(args.language).name
    except UnknownLanguage as error:
        raise UsageError(str(error), "Name one of the known languages.") from error

    async def have(app: App) -> PackagesAnswer:
        caller = Caller(consent=ask_consent)
        request = Request(name, packages=tuple(args.specs))
        return await app.packages(request, caller, fetch=args.action == "add", fresh=args.fresh)

    had = with_app(args, have, sole_language=name)
    written = _write(had, Path(args.to)) if args.to else []
    data = {
        "ecosystem": had.ecosystem,
        "key": had.key,
        "was_kept": had.was_kept,
        "files": {name: content.decode(errors="replace") for name, content in had.files.items()},
        "written": written,
    }
    print_answer(args, data, for_review(_word(had, written)))
    return exit_codes.OK


def _word(had: PackagesAnswer, written: list[str]) -> str:
    if written:
        return "\n".join(f"wrote {path}" for path in written)
    if had.key is not None:
        return f"{had.key[:KEY_SHOWN]} {'was kept' if had.was_kept else 'is kept now'}"
    texts = [content.decode(errors="replace").rstrip("\n") for content in had.files.values()]
    return "\n".join(texts)


def _write(had: PackagesAnswer, folder: Path) -> list[str]:
    """Write a lock's files into a folder; what is there stays, and is named in a UsageError."""
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


def _remove(args: argparse.Namespace, store: LayerStore) -> int:
    if args.all == bool(args.keys):
        problem = "KEY and --all exclude each other" if args.all else "missing KEY"
        usage = f"{command('packages remove KEY...')} or {command('packages remove --all')}"
        raise UsageError(f"packages remove: {problem}", f"Usage: {usage}")
    kept = [one.key for one in store.layers()]
    wanted = list(kept) if args.all else [_find(word, kept) for word in args.keys]
    forgotten = store.forget_locks() if args.all else 0
    removed = [key for key in wanted if store.remove(key)]
    for key in wanted:
        if key not in removed:
            sys.stderr.write(f"context-mode: {key[:KEY_SHOWN]} is in use, and stays\n")
    text = "\n".join(f"removed {key[:KEY_SHOWN]}" for key in removed) or "nothing was removed"
    print_answer(args, {"removed": removed, "locks_forgotten": forgotten}, text)
    return exit_codes.OK if removed == wanted else exit_codes.ERROR


def _find(word: str, kept: list[str]) -> str:
    """Return the one key that begins so; a UsageError where there is none, or several."""
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
