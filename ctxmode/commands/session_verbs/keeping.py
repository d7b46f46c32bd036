"""What a person says of sessions: pause, complete, reopen, pin, forget; and checking the store."""

from __future__ import annotations

import argparse
import sys

from ctxmode import exit_codes
from ctxmode.config.locations import load_config
from ctxmode.errors import UsageError
from ctxmode.launch import print_answer
from ctxmode.operations import sessions as operations
from memory.sessions import keeping

STATUS_OF = {"pause": "paused", "complete": "completed", "reopen": "active"}


def set_status(args: argparse.Namespace) -> int:
    wanted = STATUS_OF[args.action]
    with operations.open_sessions(load_config(args.project)) as store:
        session = operations.find_session(store, args.id)
        with store.database.writing() as db:
            keeping.set_status(db, session.id, wanted)
    print_answer(args, {"id": session.id, "status": wanted}, f"{session.id} is {wanted}.")
    return exit_codes.OK


def pin(args: argparse.Namespace) -> int:
    pinned = args.action == "pin"
    with operations.open_sessions(load_config(args.project)) as store:
        session = operations.find_session(store, args.id)
        with store.database.writing() as db:
            keeping.set_pinned(db, session.id, pinned=pinned)
    text = f"{session.id} {'stays for good' if pinned else 'goes in its time'}."
    print_answer(args, {"id": session.id, "pinned": pinned}, text)
    return exit_codes.OK


def forget(args: argparse.Namespace) -> int:
    config = load_config(args.project)
    with operations.open_sessions(config) as store:
        wanted = [operations.find_session(store, name).id for name in args.ids]
        if not args.yes and not _agrees(wanted):
            raise UsageError("nothing was forgotten", "Say --yes to forget without being asked.")
        gone = operations.forget_sessions(config, store, wanted)
    print_answer(args, {"forgotten": gone}, "\n".join(f"forgot {name}" for name in gone))
    return exit_codes.OK


def _agrees(names: list[str]) -> bool:
    if not sys.stdin.isatty():
        return False
    sys.stderr.write(f"Forget {', '.join(names)} for good? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def check(args: argparse.Namespace) -> int:
    config = load_config(args.project)
    if not config.sessions_file.exists():
        print_answer(args, {"ok": True, "problems": []}, "No session is kept yet.")
        return exit_codes.OK
    with operations.open_sessions(config) as store, store.database.exclusively() as db:
        problems = list(keeping.check(db, mend=args.mend))
    ok = not problems
    text = "\n".join(problems) or f"{config.sessions_file} is sound."
    if problems and not args.mend:
        text += "\nTry: context-mode sessions check --mend"
    print_answer(args, {"ok": ok, "mended": args.mend, "problems": problems}, text)
    return exit_codes.OK if ok or args.mend else exit_codes.ERROR
