"""Running the real git: its own configuration, no hooks, no prompts, a deadline, bounded output."""

from __future__ import annotations

import os
import selectors
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from base.git_environment import GIT_PATH, ISOLATED
from memory.pages.errors import GitError

SECONDS_MAX = 30.0
OUTPUT_BYTES_MAX = 256 << 20
_STDERR_BYTES_MAX = 64 * 1024
_CHUNK_BYTES = 64 * 1024
_ENVIRONMENT = {
    **ISOLATED,
    "GIT_ASKPASS": "/bin/false",
    "SSH_ASKPASS": "/bin/false",
    "GIT_SSH_COMMAND": "ssh -o BatchMode=yes",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
}
_ALLOWED = frozenset(
    ["SSH_AUTH_SOCK", "https_proxy", "HTTPS_PROXY", "http_proxy", "no_proxy", "NO_PROXY", "TMPDIR"]
)
"""What is taken over from the environment: a pull over the network may need it."""

_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.logAllRefUpdates=false",
    "core.attributesFile=/dev/null",
    "commit.gpgSign=false",
    "log.showSignature=false",
    "log.mailmap=false",
    "log.follow=false",
    "i18n.logOutputEncoding=UTF-8",
    "protocol.ext.allow=never",
    "gc.auto=0",
    # Each commit is one pack, which is written faster than its objects one by one.
    "fastimport.unpackLimit=1",
    "maintenance.auto=false",
    "color.ui=false",
    "core.pager=cat",
    "credential.helper=",
    "fetch.fsckObjects=true",
)


def find_git() -> str:
    """Return where git is.

    Raises:
        GitError: there is none.
    """
    git = shutil.which("git", path=GIT_PATH)
    if git is None:
        raise GitError(
            "pages are kept in a git repository, and there is no git here",
            f"install git, so that it is found in {GIT_PATH.replace(':', ', ')}",
        )
    return git


class Git:
    """Runs git upon one bare repository."""

    def __init__(
        self, folder: Path, environ: Mapping[str, str], *, seconds_max: float = SECONDS_MAX
    ) -> None:
        self.folder = folder
        self._seconds_max = seconds_max
        self._environment = {
            **{name: value for name, value in environ.items() if name in _ALLOWED},
            **_ENVIRONMENT,
        }

    def run(self, *arguments: str, given: bytes = b"", bytes_max: int = OUTPUT_BYTES_MAX) -> bytes:
        """Return what a command of git prints.

        Raises:
            GitError: it fails, prints more than `bytes_max`, or takes too long.
        """
        code, said, errors = self.try_run(*arguments, given=given, bytes_max=bytes_max)
        if code:
            raise GitError(f"git {arguments[0]} failed: {_shorten(errors) or f'exit {code}'}")
        return said

    def try_run(
        self, *arguments: str, given: bytes = b"", bytes_max: int = OUTPUT_BYTES_MAX
    ) -> tuple[int, bytes, bytes]:
        """Return the exit code of a command of git, its output and its errors.

        Raises:
            GitError: git is missing, prints more than `bytes_max`, or takes too long.
        """
        settings = [part for one in _SETTINGS for part in ("-c", one)]
        command = [find_git(), f"--git-dir={self.folder}", *settings, *arguments]
        return _run(command, self._environment, given, bytes_max, self._seconds_max)


def _run(
    command: Sequence[str],
    environment: Mapping[str, str],
    given: bytes,
    bytes_max: int,
    seconds_max: float,
) -> tuple[int, bytes, bytes]:
    try:
        process = subprocess.Popen(
            command,
            cwd="/",
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise GitError(f"git cannot be started: {error}") from error
    deadline = time.monotonic() + seconds_max
    try:
        said, errors = _talk(process, given, bytes_max, deadline)
        code = process.wait(max(deadline - time.monotonic(), 0.1))
    except subprocess.TimeoutExpired as error:
        raise _took_too_long(seconds_max) from error
    except TimeoutError as error:
        raise _took_too_long(seconds_max) from error
    finally:
        _end(process)
    return code, said, errors


def _took_too_long(seconds: float) -> GitError:
    return GitError(f"git took longer than {seconds:g} s, and was ended", "try it once more")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End git and what it started. Of a group whose leader is not reaped the number is ours."""
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with suppress(OSError):
                stream.close()


def _talk(
    process: subprocess.Popen[bytes], given: bytes, bytes_max: int, deadline: float
) -> tuple[bytes, bytes]:
    """Give git its input while its output is read, so that neither waits for the other."""
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    said, errors, rest = bytearray(), bytearray(), memoryview(given)
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ, said)
        selector.register(process.stderr, selectors.EVENT_READ, errors)
        os.set_blocking(process.stdin.fileno(), False)
        selector.register(process.stdin, selectors.EVENT_WRITE)
        while selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            for key, _ in selector.select(left):
                if key.fileobj is process.stdin:
                    rest = _write_some(selector, process.stdin, rest)
                    continue
                chunk = os.read(key.fd, _CHUNK_BYTES)
                if not chunk:
                    selector.unregister(key.fileobj)
                elif key.data is said:
                    said += chunk
                elif len(errors) < _STDERR_BYTES_MAX:
                    errors += chunk
            if len(said) > bytes_max:
                raise GitError(f"git printed more than {bytes_max >> 20} MiB, and was ended")
    return bytes(said), bytes(errors)


def _write_some(selector: selectors.BaseSelector, stdin: IO[bytes], rest: memoryview) -> memoryview:
    try:
        rest = rest[os.write(stdin.fileno(), rest[:_CHUNK_BYTES]) :] if rest else rest
    except BlockingIOError:
        return rest
    except BrokenPipeError:
        rest = rest[:0]
    if not rest:
        selector.unregister(stdin)
        stdin.close()
    return rest


def _shorten(errors: bytes) -> str:
    """Return the lines that tell what is wrong, for a message."""
    lines = errors.decode("utf-8", "replace").splitlines()
    told = [one for one in lines if one.startswith(("fatal:", "error:", "warning:"))] or lines
    return "; ".join(told[:3])[:600]
