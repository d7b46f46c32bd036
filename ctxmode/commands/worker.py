"""The verb `serve worker`: do runs that other machines order."""

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
"""What most orders are of: made ready while nothing waits for it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `serve worker`."""
    parser.add_argument("--cluster", metavar="URL", help="the cluster (default: what is set)")
    parser.add_argument(
        "--at-once", metavar="N", type=int, help="orders at a time (default: one a processor)"
    )
    parser.add_argument(
        "--keys",
        metavar="FILE",
        help=f"the fronts that are served (default: {OF_MACHINE / KEYS_FILE}, else the user's own)",
    )
    parser.add_argument(
        "--rules",
        metavar="FILE",
        help=f"rules of this worker's own (default: {OF_MACHINE / RULES_FILE}, if there is one)",
    )
    parser.add_argument(
        "--folder",
        metavar="DIR",
        help=f"what it keeps (default: for root {FOLDER_OF_ROOT}, else where state is)",
    )
    parser.add_argument("--name", metavar="NAME", help="as outcomes name it (default: the host's)")


def run_verb(args: argparse.Namespace) -> int:
    """Work until a signal ends it."""
    if args.at_once is not None and not 1 <= args.at_once <= AT_ONCE_MAX:
        raise UsageError(f"--at-once {args.at_once}", f"Give a number from 1 to {AT_ONCE_MAX:,}.")
    config = load_config(args.project)
    folder = _choose_folder(args.folder, config)
    with _translated_errors():
        terms = _make_terms(args, config, folder)
        cluster = _find_cluster(args.cluster, config, folder)
        command_line.resume_collection()
        launch.run_in_trio(partial(_work, cluster, terms))
    return exit_codes.OK


def _choose_folder(given: str | None, config: Config) -> Path:
    """Choose the worker's folder: root's lies where the user of its programs may enter."""
    if given is not None:
        return Path(given).absolute()
    return FOLDER_OF_ROOT if os.geteuid() == 0 else config.state_dir / "worker"


def _make_terms(args: argparse.Namespace, config: Config, folder: Path) -> WorkerTerms:
    from fleet import WorkerTerms  # noqa: PLC0415 - loads what the extra installs

    name = args.name if args.name is not None else socket.gethostname()
    if not name.isprintable() or not 0 < len(name) <= NAME_CHARACTERS_MAX:
        raise UsageError(
            f"--name {name[:80]!r}", f"Give 1 to {NAME_CHARACTERS_MAX} printable characters."
        )
    rules = Path(args.rules).absolute() if args.rules is not None else OF_MACHINE / RULES_FILE
    if args.rules is not None and not rules.exists():
        raise UsageError(f"--rules {rules}: there is no such file", "Give the path of a rule file.")
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
        f"no front is served: there is neither {of_machine} nor {own}",
        "List each front as [fronts.NAME] with key and owners, or give another file by --keys.",
    )


def _find_cluster(given: str | None, config: Config, folder: Path) -> Cluster:
    """Find the cluster that is to be served."""
    from ctxmode.config.cluster import find_cluster_url, load_cluster  # noqa: PLC0415 - as above
    from fleet import find_cluster  # noqa: PLC0415

    # What the folder that it was started in says is not this machine's to obey.
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
    """Let what is under way end at the first signal, and nothing at the second."""
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
    """Word what a worker can't be opened for, and say what to install where the extra is absent."""
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
    """Raise what the operator has to set right as a UsageError; nothing if it is another error."""
    from fleet import ClusterError, KeyFileError  # noqa: PLC0415

    if isinstance(error, ClusterError):
        raise UsageError(error.message, error.hint) from error
    if isinstance(error, KeyFileError):
        raise UsageError(f"--keys {error}", f"{error.hint or 'Give another file by --keys'}.")
    if isinstance(error, FileExistsError):
        raise UsageError(str(error), "Stop it, or give this one another --folder.") from error
    if isinstance(error, PermissionError | NotADirectoryError):
        hint = "Give a folder by --folder that this user can write."
        raise UsageError(f"--folder {error.filename or ''}: {why(error)}", hint) from error
