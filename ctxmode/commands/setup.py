"""The verb `setup`: register with an agent's host: its server, its hooks, its rules file."""

from __future__ import annotations

import argparse
import difflib
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from base.wording import list_choices
from ctxmode import exit_codes
from ctxmode.config.locations import load_config
from ctxmode.errors import UsageError
from ctxmode.hosts.codex.review import describe_review
from ctxmode.hosts.registry import find_agent
from ctxmode.hosts.setup.hook_edits import is_foreign
from ctxmode.hosts.setup.hosts import BY_NAME, HOSTS, Host, Scope
from ctxmode.hosts.setup.plan import FileChange, plan, plan_export, write
from ctxmode.hosts.setup.target import Target, find_server
from ctxmode.launch import print_json

NAME = "context-mode"
SESSIONS_NOTE = """\
Sessions are recorded from now on: what you asked and decided, which files and commands were used,
tokens; not the full texts. `context-mode sessions status` shows what is, docs/sessions.md how to
change it; with `--no-sessions` nothing is."""
SAID = {"new": "wrote", "changed": "changed", "removed": "removed"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("host", nargs="?", metavar="HOST", help=", ".join(BY_NAME))
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--user", action="store_true", help="in your own files (default)")
    where.add_argument(
        "--project", nargs="?", const="", metavar="DIR", help="in the files of this project"
    )
    parser.add_argument("--remove", action="store_true", help="remove all entries")
    parser.add_argument(
        "--no-sessions", action="store_true", help="do not record sessions (docs/sessions.md)"
    )
    parser.add_argument("--dry-run", action="store_true", help="show what would change")
    parser.add_argument("--export", metavar="DIR", help="write a plugin or extension for the host")
    parser.add_argument("--command", metavar="PATH", help="command that starts this program")
    parser.add_argument("--list", action="store_true", help="show the hosts")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run_verb(args: argparse.Namespace) -> int:
    if args.list:
        _list(as_json=args.json)
        return exit_codes.OK
    host = _host(args.host)
    if args.export is not None:
        return _export(host, args)
    target = _target(args)
    changes = plan(host, target, remove=args.remove)
    if not args.dry_run:
        write(changes)
    if args.json:
        print_json({"host": host.name, "changes": [_json(change) for change in changes]})
        return exit_codes.OK
    _show(host, changes, args)
    if not args.dry_run and not args.remove:
        _show_notes(host, target)
    return exit_codes.OK


def _export(host: Host, args: argparse.Namespace) -> int:
    if args.remove or args.project is not None:
        raise UsageError("--export excludes --remove and --project", "Remove one of them.")
    command = _command(args.command, "project")  # others call the program by its name
    changes = plan_export(host.name, Path(args.export).absolute(), command)
    if not args.dry_run:
        write(changes)
    if args.json:
        print_json({"host": host.name, "changes": [_json(change) for change in changes]})
    else:
        _show_changes(host, changes, args)
    return exit_codes.OK


def _list(*, as_json: bool) -> None:
    if as_json:
        print_json({"hosts": [_host_json(host) for host in HOSTS]})
        return
    for host in HOSTS:
        means, scopes = ", ".join(host.means), ", ".join(host.scopes)
        sys.stdout.write(f"{host.name:<16}{host.title:<17}{scopes:<15}{means:<21}{host.evidence}\n")


def _host_json(host: Host) -> dict[str, object]:
    return {
        "name": host.name,
        "title": host.title,
        "scopes": list(host.scopes),
        "means": list(host.means),
        "run": host.known.get("version"),
        "date": host.known["date"],
        "source": host.source,
    }


def _show_changes(host: Host, changes: Sequence[FileChange], args: argparse.Namespace) -> None:
    for change in changes:
        said = _difference(change) if args.dry_run else f"{SAID[_kind(change)]} {change.path}\n"
        sys.stdout.write(said)
    if not changes:
        sys.stdout.write(f"{host.title}: nothing to change.\n")


def _show(host: Host, changes: Sequence[FileChange], args: argparse.Namespace) -> None:
    _show_changes(host, changes, args)
    if changes and not args.dry_run and not args.remove:
        sys.stdout.write(f"Restart {host.title} to load the changes.\n")


def _show_notes(host: Host, target: Target) -> None:
    """Print the steps left to the user, and the host's settings for our hooks."""
    review = describe_review(target) if host.name == "codex" else ""
    recorded = SESSIONS_NOTE if target.records_sessions and find_agent(host.adapter) else ""
    kept = ""
    if is_foreign(find_server(host, target)):
        path = target.path(host.servers.get(target.scope, ""))
        kept = f"{path}: the server context-mode keeps your own command or address."
    for said in (host.note, review, kept, recorded):
        sys.stdout.write(f"{said}\n" if said else "")


def _json(change: FileChange) -> dict[str, str]:
    return {"path": str(change.path), "what": _kind(change), "difference": _difference(change)}


def _host(name: str | None) -> Host:
    if name in BY_NAME:
        return BY_NAME[name]
    wrong = f"unknown host {name!r}" if name else "missing HOST"
    raise UsageError(wrong, list_choices(name or "", BY_NAME))


def _target(args: argparse.Namespace) -> Target:
    scope: Scope = "user" if args.project is None else "project"
    config = load_config(args.project or None)
    command = _command(args.command, scope)
    return Target(
        scope,
        config.home,
        config.project,
        command,
        os.environ,
        records_sessions=not args.no_sessions,
        is_command_given=args.command is not None,
    )


def _command(given: str | None, scope: Scope) -> Sequence[str]:
    """Return the command by which hosts call this program: its name if that is on every PATH or
    the file is shared. A host started from a desktop has another PATH than the user's shell."""
    if given is not None:
        return [given]
    found = shutil.which(NAME)
    if scope == "project" or (found and os.path.dirname(found) in _everybodys_folders()):
        return [NAME]
    if found:
        return [os.path.abspath(found)]
    started = Path(sys.argv[0]).resolve()
    if started.name != "__main__.py":
        return [str(started)]
    beside = Path(sys.executable).with_name(NAME)
    return [str(beside)] if beside.exists() else [sys.executable, "-m", "ctxmode"]


def _everybodys_folders() -> tuple[str, ...]:
    """Return the folders on the PATH of every program, however it is started."""
    return ("/usr/local/bin", "/usr/bin", "/bin", os.path.expanduser("~/.local/bin"))


def _difference(change: FileChange) -> str:
    before, after = (text or "" for text in (change.before, change.after))
    name = str(change.path)
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), name, name, lineterm="")
    return "\n".join(lines) + "\n"


def _kind(change: FileChange) -> str:
    if change.after is None:
        return "removed"
    return "new" if change.before is None else "changed"
