"""What a person says of sessions: pause, complete, reopen, pin, forget; and checking the store."""

from __future__ import annotations

import argparse
import sys

from ctxmode import exit_codes
from ctxmode.config.locations import Config, load_config
from ctxmode.errors import UsageError
from ctxmode.launch import ask_person, print_answer, tell
from ctxmode.operations import sessions as operations
from ctxmode.operations.session_facts import erase_facts, list_facts
from memory.sessions import keeping

STATUS_OF = {"pause": "paused", "complete": "completed", "reopen": "active"}


def set_status(args: argparse.Namespace) -> int:
    wanted = STATUS_OF[args.action]
    config = load_config(args.project)
    with (
        operations.open_holding_store(config, args.id, to_write=True) as (store, session),
        store.database.writing() as db,
    ):
        keeping.set_status(db, session.id, wanted)
    print_answer(args, {"id": session.id, "status": wanted}, f"{session.id} is {wanted}.")
    return exit_codes.OK


def pin(args: argparse.Namespace) -> int:
    pinned = args.action == "pin"
    config = load_config(args.project)
    with operations.open_holding_store(config, args.id, to_write=True) as (store, session):
        with store.database.writing() as db:
            keeping.set_pinned(db, session.id, pinned=pinned)
        operations.copy_again(store)
    text = f"{session.id} {'stays for good' if pinned else 'goes in its time'}."
    print_answer(args, {"id": session.id, "pinned": pinned}, text)
    return exit_codes.OK


def forget(args: argparse.Namespace) -> int:
    config = load_config(args.project)
    wanted = [operations.find_holding_store(config, name)[1].id for name in args.ids]
    if not args.yes and not ask_person(f"Forget {', '.join(wanted)} for good?"):
        raise UsageError("nothing was forgotten", "Say --yes to forget without being asked.")
    # The facts first: where they cannot be erased, all can be asked for again.
    erased = erase_facts(config, wanted) if _erases_facts(args, config, wanted) else []
    holders = operations.find_holders(config, wanted)
    tell(holders.left_out)
    gone: dict[str, None] = {}
    for path, held in holders.found.items():
        if held:
            with operations.open_to_write(config, path) as store:
                gone |= dict.fromkeys(operations.forget_sessions(config, store, held))
    lines = [f"forgot {name}" for name in gone] + [f"erased {path}" for path in erased]
    data = {"forgotten": list(gone), **({"facts": erased} if erased else {})}
    print_answer(args, data, "\n".join(lines))
    return exit_codes.OK


def _erases_facts(args: argparse.Namespace, config: Config, wanted: list[str]) -> bool:
    """Tell whether the facts that summaries made go, too; a person is asked who did not say so."""
    if args.facts or args.keep_facts:
        return bool(args.facts)
    paths = list_facts(config, wanted)
    if not paths:
        return False
    if args.yes or not sys.stdin.isatty():
        raise UsageError(
            f"nothing was forgotten: {len(paths)} facts in memory are of these sessions",
            "Say --facts to erase them, too, or --keep-facts.",
        )
    return ask_person(f"Erase the {len(paths)} facts that their summaries made, too?")


def check(args: argparse.Namespace) -> int:
    config = load_config(args.project)
    problems, lines = list[str](), list[str]()
    for path in operations.list_stores(config):
        if args.mend:
            operations.mend_store(path)
        with operations.open_to_write(config, path) as store, store.database.exclusively() as db:
            tell(store.notices)
            found = list(keeping.check(db, mend=args.mend))
        problems += found
        lines += found or [f"{path} is sound."]
    ok = not problems
    text = "\n".join(lines) or "No session is kept yet."
    if problems and not args.mend:
        text += "\nTry: context-mode sessions check --mend"
    print_answer(args, {"ok": ok, "mended": args.mend, "problems": problems}, text)
    return exit_codes.OK if ok or args.mend else exit_codes.ERROR
