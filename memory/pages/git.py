"""Runs of the real git: own configuration, no hooks or prompts, time limit, bounded output.

Also the text of commits: written for fast-import, and read from a log.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from base.bounded_run import (
    GIT_PATH,
    NEUTRAL_SETTINGS,
    UNATTENDED,
    CannotStartError,
    TookTooLongError,
    TooMuchOutputError,
    run_bounded,
)
from memory.pages.model import Commit, GitError

COMMITTER = "context-mode"
LOG_FORMAT = "%H%x00%an%x00%at%x00%B"
TRAILERS = ("Agent", "Session", "Buffer")
_NAME_CHARS_MAX = 200
_TRAILER_CHARS_MAX = 500
_MESSAGE_CHARS_MAX = 16 * 1024
_UNSAFE = re.compile("[\0-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]+")
_UNSAFE_IN_LINES = re.compile(
    "[\0-\x09\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]+"
)

SECONDS_MAX = 30.0
OUTPUT_BYTES_MAX = 256 << 20
_ENVIRONMENT = {**UNATTENDED, "GIT_SSH_COMMAND": "ssh -o BatchMode=yes"}
_ALLOWED = frozenset(
    ["SSH_AUTH_SOCK", "https_proxy", "HTTPS_PROXY", "http_proxy", "no_proxy", "NO_PROXY", "TMPDIR"]
)
"""Environment variables that git gets: a pull over the network may need them."""

_SETTINGS = (
    *NEUTRAL_SETTINGS,
    "core.logAllRefUpdates=false",
    "commit.gpgSign=false",
    "protocol.ext.allow=never",
    "gc.auto=0",
    # Each commit is one pack: that is faster than writing its objects one by one.
    "fastimport.unpackLimit=1",
    "maintenance.auto=false",
    "fetch.fsckObjects=true",
)


def one_line(text: str, chars_max: int) -> str:
    """Return a text as one line, without control characters and lone surrogates."""
    plain = _UNSAFE.sub(" ", text).encode("utf-8", "replace").decode()
    return " ".join(plain.split())[:chars_max].strip()


def identity(author: str) -> str:
    """Return a name, with its address if there is one, as git writes it. Neither can contain `<` or
    `>`."""
    line = one_line(author, _NAME_CHARS_MAX)
    match = re.fullmatch(r"([^<>]*)<([^<>\s]*)>", line)
    name, address = (match[1], match[2]) if match else (line, "")
    name = re.sub("[<>]", "", name).strip(" .,:;\"'\\")
    return f"{name or 'unknown'} <{address}>"


def message_of(subject: str, trailers: Mapping[str, str]) -> str:
    """Return the whole message. Its last paragraph is always our own trailers."""
    text = _UNSAFE_IN_LINES.sub(" ", subject.replace("\r\n", "\n").replace("\r", "\n"))
    text = text.encode("utf-8", "replace").decode()[:_MESSAGE_CHARS_MAX].strip()
    first, _, rest = text.partition("\n")
    parts = [first.strip() or "Change pages"]
    if rest.strip():
        parts.append(rest.strip("\n"))
    values = {name: one_line(trailers.get(name, ""), _TRAILER_CHARS_MAX) for name in TRAILERS}
    values["Agent"] = values["Agent"] or "unknown"
    parts.append("\n".join(f"{name}: {value}" for name, value in values.items() if value))
    return "\n\n".join(parts) + "\n"


def import_stream(  # noqa: PLR0913 - what a commit is made of
    branch: str,
    files: Mapping[str, str | None],
    *,
    parent: str,
    author: str,
    message: str,
    at: int,
) -> bytes:
    """Return one commit for fast-import: files with their texts, None for deleted ones."""
    text = message.encode()
    pieces = [
        f"commit {branch}\n".encode(),
        f"author {identity(author)} {at} +0000\n".encode(),
        f"committer {COMMITTER} <> {at} +0000\n".encode(),
        b"data %d\n%s\n" % (len(text), text),
    ]
    if parent:
        pieces.append(f"from {parent}\n".encode())
    for path, content in files.items():
        if content is None:
            pieces.append(b"D " + _quote(path) + b"\n")
        else:
            data = content.encode()
            pieces.append(b"M 100644 inline " + _quote(path) + b"\n")
            pieces.append(b"data %d\n%s\n" % (len(data), data))
    pieces.append(b"\ndone\n")
    return b"".join(pieces)


def parse_log(said: bytes) -> Iterator[Commit]:
    """Parse the output of `log -z --format=LOG_FORMAT`."""
    fields = said.decode("utf-8", "replace").split("\0")
    for at in range(0, len(fields) - 3, 4):
        sha, author, seconds, message = fields[at : at + 4]
        yield _commit(sha.strip(), author, seconds, message)


def _commit(sha: str, author: str, seconds: str, message: str) -> Commit:
    found: dict[str, str] = {}
    paragraphs = message.strip().split("\n\n")
    if len(paragraphs) > 1:  # a subject is not a trailer
        for line in paragraphs[-1].split("\n"):
            name, mark, value = line.partition(": ")
            if mark and name in TRAILERS:
                found.setdefault(name, value)
    agent = found.get("Agent", "")
    return Commit(
        sha,
        author,
        float(seconds or 0),
        message.strip().split("\n", 1)[0],
        agent="" if agent == "unknown" else agent,
        session=found.get("Session", ""),
        buffer=found.get("Buffer", ""),
    )


def _quote(path: str) -> bytes:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'.encode()


def find_git() -> str:
    """Return the path of git.

    Raises:
        GitError: git is missing.
    """
    git = shutil.which("git", path=GIT_PATH)
    if git is None:
        raise GitError(
            "pages are kept in a git repository, and git was not found",
            f"Install git in one of {GIT_PATH.replace(':', ', ')}.",
        )
    return git


class Git:
    """Runner of git in one bare repository."""

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
        """Return the output of a git command.

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
        """Return the exit code of a git command, its output and its errors.

        Raises:
            GitError: git is missing, prints more than `bytes_max`, or takes too long.
        """
        settings = [part for one in _SETTINGS for part in ("-c", one)]
        command = [find_git(), f"--git-dir={self.folder}", *settings, *arguments]
        try:
            done = run_bounded(
                command,
                (self._seconds_max, bytes_max),
                environment=self._environment,
                given=given,
            )
        except CannotStartError as error:
            raise GitError(f"cannot start git: {error}") from error
        except TookTooLongError as error:
            raise GitError(
                f"git took longer than {self._seconds_max:g} s, and was stopped", "Try again."
            ) from error
        except TooMuchOutputError as error:
            raise GitError(
                f"git printed more than {bytes_max >> 20} MiB, and was stopped"
            ) from error
        return done.returncode, done.stdout, done.stderr


def _shorten(errors: bytes) -> str:
    """Return the lines that describe the failure, for a message."""
    lines = errors.decode("utf-8", "replace").splitlines()
    told = [one for one in lines if one.startswith(("fatal:", "error:", "warning:"))] or lines
    return "; ".join(told[:3])[:600]
