"""Bounded runs of programs: limited time and output, and no process left behind."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO

GIT_PATH = "/usr/local/bin:/usr/bin:/bin"
ISOLATED: Mapping[str, str] = {
    "PATH": GIT_PATH,
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
"""The whole environment; callers that run git add what they need."""

UNATTENDED: Mapping[str, str] = {
    **ISOLATED,
    "GIT_ASKPASS": "/bin/false",
    "SSH_ASKPASS": "/bin/false",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
}
"""The same, for git on paths as they are, without prompts or replacements."""

NEUTRAL_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    "core.pager=cat",
    "color.ui=false",
    "credential.helper=",
    "log.showSignature=false",
    "log.mailmap=false",
    "log.follow=false",
    "i18n.logOutputEncoding=UTF-8",
)
"""Options that overrule a repository's own settings, each after `-c`: those that start programs, or
change the output."""


_STDERR_BYTES_MAX = 64 * 1024
_CHUNK_BYTES = 64 * 1024


class BoundedRunError(Exception):
    """A program did not end by itself."""


class CannotStartError(BoundedRunError):
    """It cannot be started: missing, not allowed, or no valid arguments."""


class TookTooLongError(BoundedRunError):
    """It exceeded its time limit, and was ended."""


class TooMuchOutputError(BoundedRunError):
    """It exceeded its output limit, and was ended."""


Bounds = tuple[float, int]
"""The limits of a program: seconds, and bytes of its output."""


def run_bounded(
    command: Sequence[str],
    bounds: Bounds,
    *,
    environment: Mapping[str, str],
    folder: str | os.PathLike[str] = "/",
    given: bytes = b"",
) -> subprocess.CompletedProcess[bytes]:
    """Run a program in `folder` with exactly that environment, and `given` as its input. The first
    bytes of its errors are returned.

    Raises:
        CannotStartError: it cannot be started.
        TookTooLongError: it, or what holds its output, did not end in time.
        TooMuchOutputError: it printed more than it may.
    """
    try:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise CannotStartError(str(error)) from error
    seconds, output_bytes = bounds
    deadline = time.monotonic() + seconds
    try:
        output, errors = _talk(process, given, output_bytes, deadline)
        code = process.wait(max(deadline - time.monotonic(), 0.1))
    except (subprocess.TimeoutExpired, TimeoutError) as error:
        raise TookTooLongError(f"it took longer than {seconds:g} s") from error
    finally:
        _end(process)
    return subprocess.CompletedProcess(command, code, output, errors)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End it and what it started. The group's number stays ours until its leader is reaped."""
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
    """Send its input while reading its output, so that neither waits for the other."""
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
                raise TooMuchOutputError(f"it printed more than {bytes_max} bytes")
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
