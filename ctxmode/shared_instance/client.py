"""The side of a command: hands its arguments, environment and streams to the shared instance.

Every command loads this first, so it imports nothing that takes a millisecond. Whatever the
instance cannot do, or does not answer in time, the command does by itself.
"""

from __future__ import annotations

import _socket  # `socket` takes 5 ms to load
import os
import sys
import time

from base.digests import sha256
from base.frames import take_frame
from ctxmode import __version__
from ctxmode.shared_instance import messages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

OFF = "CONTEXT_MODE_INSTANCE_SHARED"
"""The variable of the setting `instance.shared`."""

RUNNERS = ("CI", "GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION")
"""Variables of CI runners: a job there leaves no process behind."""

START_EVERY_S = 10.0
LOST = "the shared instance ended during this run, so its result is unknown"
LOST_REMEDY = "Check what the program has changed, and run it again."
_ALONE = {"-i", "--http", "worker", "cluster"}
"""Words of commands that the instance is not for; a program's argument may be one, too."""

_LISTENER = """\
import sys
sys.path[:] = sys.argv[3:]
from ctxmode.shared_instance import listener
listener.main(*sys.argv[1:3])
"""
_GO_ON = """\
import sys
end = sys.argv.index("")
sys.path[:] = sys.argv[2:end]
from ctxmode.shared_instance import client
client.journal = int(sys.argv[1])
sys.argv[1:] = sys.argv[end + 1:]
from ctxmode.cli import main
sys.exit(main())
"""
journal: int | None = None
"""A file in memory in which a server notes the data that another needs to serve its client."""

_SIGNALS = (1, 2, 15)  # SIGHUP, SIGINT, SIGTERM; the module that names them takes a millisecond
_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def find_storage(environ: Mapping[str, str]) -> str:
    """Return the storage folder, as in `ctxmode.config.locations` but without its library: the data
    folder of the XDG Base Directory Specification."""
    if given := environ.get("CONTEXT_MODE_DIR"):
        return given
    base = environ.get("XDG_DATA_HOME", "").strip() or os.path.expanduser("~/.local/share")
    return os.path.join(base, "ctxmode")


def find_folder(environ: Mapping[str, str]) -> str:
    """Return the folder of the socket: one for each user and storage folder."""
    return os.path.join(find_storage(environ), "state", "shared")


def name_instance() -> str:
    """Return the name of the instance with this code: its version, and a digest of the places of
    its modules."""
    numbers = [(one.st_dev, one.st_ino) for one in map(os.stat, (_FOLDER, sys.executable))]
    loaded = repr((sys.hexversion, sys.executable, numbers, _list_path()))
    return f"{__version__}-{sha256(os.fsencode(loaded)).hexdigest()[:16]}"


def _list_path() -> list[str]:
    """List the folders of modules, from which the instance loads, too."""
    return [os.path.abspath(folder) for folder in sys.path]


def is_wanted(environ: Mapping[str, str]) -> bool:
    """Return whether commands with this environment may use a shared instance."""
    if environ.get(OFF, "auto").lower() != "auto":
        return False
    values = (environ.get(name, "").lower() for name in RUNNERS)
    is_text = sys.getfilesystemencoding() == "utf-8" and os.path.isabs(find_storage(environ))
    return is_text and not any(value not in ("", "0", "false") for value in values)


def connect() -> _socket.socket | None:
    """Connect to the instance of this user; None without an instance that greets in time."""
    try:
        folder = os.open(find_folder(os.environ), os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
    stream = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        stream.settimeout(messages.GREETING_S_MAX)
        # The kernel takes 107 bytes for a socket's path, and folders may be deep.
        stream.connect(f"/proc/self/fd/{folder}/{name_instance()}.sock")
        peer = stream.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
        owner = int.from_bytes(peer[4:8], sys.byteorder)
        if owner == os.geteuid() and stream.recv(len(messages.HELLO)) == messages.HELLO:
            return stream
    except OSError:
        pass
    finally:
        os.close(folder)
    stream.close()
    return None


def have_done(arguments: Sequence[str]) -> int | None:
    """Hand a command to the instance; return its exit code, or None if this process must do it. The
    input that was read for it stays readable."""
    global journal  # noqa: PLW0603 - of this process, which is one server
    if arguments[0] != "hook":
        # The instance could not stop reading what a user types.
        is_typed = "-" in arguments and os.isatty(0)
        is_other = not _ALONE.isdisjoint(arguments) or any(map(_is_budget, arguments))
        if is_typed or is_other:
            return None
        if arguments[0] == "serve":
            journal = journal or os.memfd_create("context-mode serve")
        return run(arguments)
    try:
        event = sys.stdin.buffer.read()
    except (AttributeError, OSError, ValueError):  # it is closed
        return None
    code = answer_hook(arguments, event)
    if code is None:
        from io import BytesIO, TextIOWrapper  # noqa: PLC0415 - if the instance did not answer

        sys.stdin = TextIOWrapper(BytesIO(event))
    return code


def is_reachable() -> bool:
    """Return whether there is an instance that answers."""
    stream = connect()
    if stream is not None:
        stream.close()
    return stream is not None


def go_on() -> None:
    """Replace this process, which served a client, by one that hands it to the instance."""
    assert journal is not None
    os.set_inheritable(journal, True)
    words = [sys.executable, "-I", "-S", "-c", _GO_ON, str(journal), *_list_path()]
    os.execv(sys.executable, [*words, "", *sys.argv[1:]])  # noqa: S606 - of this program


def answer_hook(arguments: Sequence[str], event: bytes) -> int | None:
    """Hand a hook's event to the instance, and print the answer; return the exit code, or None if
    this process must answer. Nothing is printed before the answer is complete."""
    stream = connect()
    if stream is None:
        return None
    try:
        stream.settimeout(messages.ANSWER_S_MAX)
        stream.sendall(_pack_request(arguments, event))
        kind, code, out, error = _receive(stream, bytearray())
        if kind != messages.DONE:
            return None
    except (OSError, ValueError, EOFError):
        return None
    finally:
        stream.close()
    for descriptor, text in ((2, error), (1, out)):
        _write(descriptor, text)
    return int(code)


def run(arguments: Sequence[str]) -> int | None:
    """Hand a command to the instance, with this process's streams; return its exit code, or None if
    this process must run it. Signals are passed on."""
    stream = connect()
    if stream is None:
        return None
    data = bytearray()
    try:
        stream.settimeout(messages.TAKEN_S_MAX)
        stream.sendall(_pack_request(arguments, b""))
        if _receive(stream, data)[0] != messages.TAKEN:
            stream.close()
            return None
        # Streams come last: one that hangs with them would keep a reader of our output waiting.
        given = (0, 1, 2) if journal is None else (0, 1, 2, journal)
        descriptors = b"".join(one.to_bytes(4, sys.byteorder) for one in given)
        rights = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, descriptors)
        stream.sendmsg([messages.pack(messages.GO)], [rights])
    except (OSError, ValueError, EOFError):
        stream.close()
        return None
    try:
        return _wait(stream, data)
    except (OSError, ValueError, EOFError):
        if journal is not None:
            return None  # the client of this server is served here from now on
        _write(2, f"context-mode: {LOST}\n  {LOST_REMEDY}\n".encode())
        return 125  # NO_SANDBOX in `ctxmode.exit_codes`


def start() -> None:
    """Start an instance that serves later commands, without waiting for it; if it does not stay,
    not again within START_EVERY_S."""
    folder, name = find_folder(os.environ), name_instance()
    mark = os.path.join(folder, f"{name}.started")
    try:
        if os.stat(mark).st_mtime + START_EVERY_S > time.time():
            return
    except OSError:
        pass  # never started
    null = [(os.POSIX_SPAWN_OPEN, one, os.devnull, os.O_RDWR, 0) for one in (0, 1, 2)]
    words = [sys.executable, "-I", "-S", "-c", _LISTENER, folder, name, *_list_path()]
    locale = {"LC_ALL": "C.UTF-8"}  # of the instance itself
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        os.close(os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600))
        os.utime(mark)
        os.posix_spawn(sys.executable, words, {**os.environ, **locale}, file_actions=null)
    except (OSError, ValueError):
        return  # commands work without it


def _is_budget(word: str) -> bool:
    """Return whether a word limits the answer, which takes the process's own output."""
    return word.partition("=")[0] == "--budget"


def _pack_request(arguments: Sequence[str], given: bytes) -> bytes:
    mask = os.umask(0o077)
    os.umask(mask)
    errors = getattr(sys.stdout, "errors", None) or "strict"
    return messages.pack_request(arguments, mask, errors, given)


def _receive(stream: _socket.socket, data: bytearray) -> list[bytes]:
    """Receive a message; raise EOFError if the instance is gone."""
    while (frame := take_frame(data)) is None:
        chunk = stream.recv(messages.RECEIVE_BYTES)
        if not chunk or len(data) > messages.BYTES_MAX:
            raise EOFError
        data += chunk
    return messages.unpack(frame)


def _wait(stream: _socket.socket, data: bytearray) -> int:
    """Wait for the end of a run, passing signals on. A run has its own time limits."""
    import _signal  # type: ignore[import-not-found]  # noqa: PLC0415 - `signal` takes a millisecond

    def pass_on(number: int, _: object) -> None:
        stream.sendall(messages.pack(messages.SIGNAL, b"%d" % number))

    stream.settimeout(messages.SILENCE_S_MAX)
    for number in _SIGNALS:
        if _signal.getsignal(number) is not _signal.SIG_IGN:  # nohup ignores one
            _signal.signal(number, pass_on)
    while (answer := _receive(stream, data))[0] != messages.DONE:
        pass  # it works
    return int(answer[1])


def _write(descriptor: int, text: bytes) -> None:
    """Write a whole text; a reader that is gone ends it."""
    try:
        while text:
            text = text[os.write(descriptor, text) :]
    except OSError:
        pass
