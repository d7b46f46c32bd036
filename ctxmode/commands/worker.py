"""Do runs that other machines order: be a worker of an engine, or of this machine's commands.

An order is done only if a front in --keys has sealed it. Rules of the worker's operator hold
besides the front's. Without --once it works until SIGTERM, then ends what is under way; a second
SIGTERM ends that, too. With --once it does the order in FILE, beside which its project lies: by
the worker that runs on this machine, else by itself. It exits 0 whatever became of the program.

examples:
  context-mode worker --cluster grpcs://build.example.com --at-once 4
  context-mode worker --keys fronts.toml --folder /var/lib/context-mode/worker
  context-mode worker --once order
"""

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

from ctxmode import exit_codes, garbage, launch
from ctxmode.config.locations import Config, load_config
from ctxmode.errors import ContextModeError, UsageError, translate_errors, unwrap, why

if TYPE_CHECKING:
    import trio

    from fleet.settings import ClusterSettings
    from fleet.worker import Worker, WorkerTerms

OF_MACHINE: Final = Path("/etc/context-mode")
KEYS_FILE, RULES_FILE = "fronts.toml", "rules.toml"
FOLDER_OF_ROOT: Final = Path("/var/lib/context-mode/worker")
NAME_CHARACTERS_MAX = 200
AT_ONCE_MAX = 1024
WARM: Final = ("shell", "python", "javascript")
"""What most orders are of: made ready while nothing waits for it."""
INSTALL: Final = "pip install 'ctxmode[cluster]'"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `worker`."""
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--once", metavar="FILE", help="do the sealed order in this file, then end")
    what.add_argument("--cluster", metavar="URL", help="serve this engine, such as grpcs://host")
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


def run(args: argparse.Namespace) -> int:
    """Do one order, or work until a signal ends it."""
    if args.once is not None and args.at_once is not None:
        raise UsageError("--at-once is for a worker that stays", "Leave out one of the two.")
    if args.at_once is not None and not 1 <= args.at_once <= AT_ONCE_MAX:
        raise UsageError(f"--at-once {args.at_once}", f"Give a number from 1 to {AT_ONCE_MAX:,}.")
    config = load_config(args.project)
    folder = _choose_folder(args.folder, config)
    if args.once is not None:
        _do_once(args, config, folder, Path(args.once).absolute())
        return exit_codes.OK
    with _translated_errors():
        terms = _make_terms(args, config, folder)
        engine = _find_engine(args.cluster, config, folder) if args.cluster is not None else None
        garbage.resume()
        launch.run(partial(_work, engine, terms))
    return exit_codes.OK


def _choose_folder(given: str | None, config: Config) -> Path:
    """Choose the worker's folder: root's lies where the user of its programs may enter."""
    if given is not None:
        return Path(given).absolute()
    return FOLDER_OF_ROOT if os.geteuid() == 0 else config.state_dir / "worker"


def _make_terms(args: argparse.Namespace, config: Config, folder: Path) -> WorkerTerms:
    from fleet.worker import WorkerTerms  # noqa: PLC0415 - loads what the extra installs

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


def _find_engine(url: str, config: Config, folder: Path) -> ClusterSettings:
    """Load what is set of the engine, and see that its URL leads to one."""
    from ctxmode.config.cluster import load_cluster  # noqa: PLC0415 - as above
    from fleet.engines import find_engine  # noqa: PLC0415

    # What the folder that it was started in says is not this machine's to obey.
    settings = load_cluster(replace(config, project=folder), url)
    find_engine(url, settings.credentials, settings.blobs)
    return settings


def _do_once(args: argparse.Namespace, config: Config, folder: Path, order: Path) -> None:
    """Have the machine's worker do an order, or do it here if there is none."""
    from fleet.worker_socket import (  # noqa: PLC0415 - another verb does without
        SOCKET_FILE,
        NoWorkerError,
        UndoneError,
        hand_to_worker,
    )

    if not order.is_file():
        raise UsageError(f"--once {order}: there is no such file", "Give the file of an order.")
    try:
        hand_to_worker(folder / SOCKET_FILE, order.parent, order.name)
    except UndoneError as error:
        raise ContextModeError(f"the order was not done: {error}") from error
    except NoWorkerError:
        garbage.resume()
        with _translated_errors():
            launch.run(partial(_do_here, _make_terms(args, config, folder), order))


async def _do_here(terms: WorkerTerms, order: Path) -> None:
    from fleet.exec_root import do_in_folder, read_sealed  # noqa: PLC0415 - as above
    from fleet.socket_serving import UNDONE, explain  # noqa: PLC0415
    from fleet.worker import open_worker, read_order  # noqa: PLC0415

    with translate_errors():
        try:
            asked = read_order(read_sealed(order.parent, order.name), terms.keys)
        except UNDONE as error:
            _raise_key_error(error)
            raise ContextModeError(f"the order was not done: {explain(error)}") from error
        settings = replace(terms.settings, sole_language=asked.request.language)
        alone = replace(terms, at_once=1, warm=(), settings=settings)
        async with open_worker(alone) as worker:
            try:
                await do_in_folder(worker, order.parent, order.name)
            except UNDONE as error:
                raise ContextModeError(f"the order was not done: {explain(error)}") from error


async def _work(engine: ClusterSettings | None, terms: WorkerTerms) -> None:
    """Serve an engine, or the socket, until a signal ends it."""
    import trio  # noqa: PLC0415 - as in `launch`

    from fleet.worker import open_worker  # noqa: PLC0415 - as above

    with translate_errors():
        async with open_worker(terms) as worker, trio.open_nursery() as nursery:
            leave = trio.Event()
            await nursery.start(_watch, leave)
            if engine is not None:
                await _serve_engine(engine, terms.folder, worker, leave)
            else:
                await _serve_socket(terms.folder, worker, leave)
            nursery.cancel_scope.cancel()


async def _serve_engine(
    engine: ClusterSettings, folder: Path, worker: Worker, leave: trio.Event
) -> None:
    from fleet.engines.serving import Serving, serve  # noqa: PLC0415 - as above

    properties = await worker.list_properties()
    out = folder / "out"
    out.mkdir(mode=0o700, exist_ok=True)
    how = Serving(worker.name, worker.at_once, properties, out, leave)
    _tell(f"worker {worker.name} serves {engine.url}: {_describe(worker)}")
    await serve(engine.url, engine.credentials, engine.blobs, worker, how)


async def _serve_socket(folder: Path, worker: Worker, leave: trio.Event) -> None:
    import trio  # noqa: PLC0415 - as above

    from fleet.socket_serving import serve_orders  # noqa: PLC0415 - as above
    from fleet.worker_socket import SOCKET_FILE  # noqa: PLC0415

    async with trio.open_nursery() as nursery:
        await nursery.start(serve_orders, folder / SOCKET_FILE, worker, leave)
        _tell(f"worker {worker.name} is ready at {folder / SOCKET_FILE}: {_describe(worker)}")


def _describe(worker: Worker) -> str:
    return f"tier {worker.tier}, {worker.at_once} at once"


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
    from fleet.errors import ClusterError  # noqa: PLC0415 - only errors pay
    from fleet.keys import KeyFileError  # noqa: PLC0415

    if isinstance(error, ClusterError):
        raise UsageError(error.message, error.hint) from error
    if isinstance(error, KeyFileError):
        raise UsageError(f"--keys {error}", f"{error.hint or 'Give another file by --keys'}.")
    if isinstance(error, FileExistsError):
        raise UsageError(str(error), "Stop it, or give this one another --folder.") from error
    if isinstance(error, PermissionError | NotADirectoryError):
        hint = "Give a folder by --folder that this user can write."
        raise UsageError(f"--folder {error.filename or ''}: {why(error)}", hint) from error
