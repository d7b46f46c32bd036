"""The verb `serve worker`: run orders from other machines."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import socket
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ctxmode import command_line, exit_codes, launch
from ctxmode.config.locations import Config, load_config
from ctxmode.errors import UsageError, translate_errors, unwrap, why

if TYPE_CHECKING:
    import trio

    from fleet import Cluster, WorkerTerms

OF_MACHINE: Final = Path("/etc/context-mode")
KEYS_FILE, RULES_FILE = "fronts.toml", "rules.toml"
FOLDER_OF_ROOT: Final = Path("/var/lib/context-mode/worker")
NAME_CHARACTERS_MAX = 200
AT_ONCE_MAX = 1024
WARM: Final = ("shell", "python", "javascript")
"""The languages of most orders: prepared while no order waits."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `serve worker`."""
    parser.add_argument("--cluster", metavar="URL", help="the cluster (default: cluster.url)")
    parser.add_argument(
        "--at-once", metavar="N", type=int, help="orders at once (default: one per processor)"
    )
    parser.add_argument(
        "--keys",
        metavar="FILE",
        help=f"trusted fronts (default: {OF_MACHINE / KEYS_FILE}, else the user's own)",
    )
    parser.add_argument(
        "--rules",
        metavar="FILE",
        help=f"this worker's rules (default: {OF_MACHINE / RULES_FILE}, if there is one)",
    )
    parser.add_argument(
        "--folder",
        metavar="DIR",
        help=f"storage folder (default: {FOLDER_OF_ROOT} for root, else the state folder)",
    )
    parser.add_argument("--name", metavar="NAME", help="name in results (default: the host name)")


def run_verb(args: argparse.Namespace) -> int:
    """Work until a signal ends it."""
    if args.at_once is not None and not 1 <= args.at_once <= AT_ONCE_MAX:
        raise UsageError(
            f"invalid --at-once {args.at_once}", f"Use a number from 1 to {AT_ONCE_MAX:,}."
        )
    config = load_config(args.project)
    folder = _choose_folder(args.folder, config)
    with _translated_errors():
        terms = _make_terms(args, config, folder)
        cluster = _find_cluster(args.cluster, config, folder)
        command_line.resume_collection()
        launch.run_in_trio(partial(_work, cluster, terms))
    return exit_codes.OK


def _choose_folder(given: str | None, config: Config) -> Path:
    """Choose the worker's folder: root's must be accessible to the user of its programs."""
    if given is not None:
        return Path(given).absolute()
    return FOLDER_OF_ROOT if os.geteuid() == 0 else config.state_dir / "worker"


def _make_terms(args: argparse.Namespace, config: Config, folder: Path) -> WorkerTerms:
    from fleet import WorkerTerms  # noqa: PLC0415 - loads what the extra installs

    name = args.name if args.name is not None else socket.gethostname()
    if not name.isprintable() or not 0 < len(name) <= NAME_CHARACTERS_MAX:
        raise UsageError(
            f"invalid --name {name[:80]!r}", f"Use 1 to {NAME_CHARACTERS_MAX} printable characters."
        )
    rules = Path(args.rules).absolute() if args.rules is not None else OF_MACHINE / RULES_FILE
    if args.rules is not None and not rules.exists():
        raise UsageError(f"cannot read --rules {rules}: no such file", "Name a rule file.")
    return WorkerTerms(
        folder=folder,
        keys=_choose_keys(args.keys, config),
        rules=rules,
        name=name,
        at_once=args.at_once or os.cpu_count() or 1,
        home=config.home,
        warm=WARM,
    )


def _choose_keys(given: str | None, config: Config) -> Path:
    if given is not None:
        return Path(given).absolute()
    of_machine, own = OF_MACHINE / KEYS_FILE, config.config_home / "ctxmode" / KEYS_FILE
    for file in (of_machine, own):
        if file.exists():
            return file
    raise UsageError(
        f"no list of fronts: {of_machine} and {own} are missing",
        "List each front as [fronts.NAME] with key and owners, or name a file with --keys.",
    )


def _find_cluster(given: str | None, config: Config, folder: Path) -> Cluster:
    """Find the cluster to serve."""
    from ctxmode.config.cluster import find_cluster_url, load_cluster  # noqa: PLC0415 - as above
    from fleet import find_cluster  # noqa: PLC0415

    # The settings of the current folder do not apply to this machine.
    own = replace(config, project=folder)
    url = given or find_cluster_url(own)
    if not url:
        raise UsageError("no cluster is set", "Give --cluster URL, or set cluster.url.")
    settings = load_cluster(own, url)
    return find_cluster(url, settings.credentials, settings.blobs)


async def _work(cluster: Cluster, terms: WorkerTerms) -> None:
    """Serve the cluster until a signal ends it."""
    import trio  # noqa: PLC0415 - as in `launch`

    from fleet import Serving, open_worker, serve  # noqa: PLC0415 - as above

    with translate_errors():
        async with open_worker(terms) as worker, trio.open_nursery() as nursery:
            leave = trio.Event()
            await nursery.start(_watch, leave)
            offers = await worker.list_offers()
            out = terms.folder / "out"
            out.mkdir(mode=0o700, exist_ok=True)
            how = Serving(terms.name, terms.at_once, offers, out, leave)
            room = f"tier {worker.tier}, {terms.at_once} at once"
            _tell(f"worker {terms.name} serves {cluster.scheduler}: {room}")
            await serve(cluster, worker, how)
            nursery.cancel_scope.cancel()


def _tell(text: str) -> None:
    launch.tell([text])
    sys.stderr.flush()


async def _watch(leave: trio.Event, task_status: trio.TaskStatus[None] | None = None) -> None:
    """Finish current orders at the first signal, stop them at the second."""
    import trio  # noqa: PLC0415 - as above

    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as signals:
        if task_status is not None:
            task_status.started()
        async for number in signals:
            if leave.is_set():
                raise SystemExit(128 + number)
            leave.set()


@contextlib.contextmanager
def _translated_errors() -> Iterator[None]:
    """Raise errors of opening a worker with a remedy, such as the extra to install."""
    from fleet import INSTALL  # noqa: PLC0415 - as above

    try:
        yield
    except ImportError as error:
        missing = (error.name or "").partition(".")[0]
        raise UsageError(f"a worker needs {missing}, which is not installed", INSTALL) from error
    except Exception as raised:
        _raise_key_error(unwrap(raised))
        raise


def _raise_key_error(error: BaseException) -> None:
    """Raise errors that the operator can fix as UsageError; return for other errors."""
    from fleet import ClusterError, KeyFileError  # noqa: PLC0415

    if isinstance(error, ClusterError):
        raise UsageError(error.message, error.hint) from error
    if isinstance(error, KeyFileError):
        raise UsageError(f"--keys {error}", f"{error.hint or 'Name another file with --keys'}.")
    if isinstance(error, FileExistsError):
        raise UsageError(str(error), "Stop it, or use another --folder.") from error
    if isinstance(error, PermissionError | NotADirectoryError):
        hint = "Use --folder with a folder that this user can write."
        raise UsageError(f"--folder {error.filename or ''}: {why(error)}", hint) from error
