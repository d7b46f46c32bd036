"""Profiles, callers, and the check of a request against this machine before any start.

A profile grants access to a run. Two are built in; users define others, projects tighten them.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import policy
import runtimes
from base.wording import list_choices
from executor.model import MIB, Limits, Request, RequestError, Status
from executor.network import Allowlist
from policy import real_path
from policy.project_file import HiddenError, open_project_file

if TYPE_CHECKING:
    from executor.packages.model import Wanted
    from executor.project.view.search import ProjectSearch


class ProjectAccess(StrEnum):
    """The access of a program to the project."""

    COPY_ON_WRITE = "cow"  # writable to the program, nothing persists
    COMMIT = "commit"  # the same, and changes are committed at the run's end
    READ_ONLY = "read_only"
    LIVE = "live"  # bound as it is: weaker, for programs that can't work on a copy


NO_NETWORK = Allowlist()


@dataclass(frozen=True, slots=True)
class Profile:
    """A named grant."""

    name: str
    project: ProjectAccess
    network: Allowlist = NO_NETWORK  # names to connect to
    env: tuple[str, ...] = ()  # names of variables that are passed through
    read: tuple[str, ...] = ()  # paths of the host that are passed through
    floor: str = "B"  # the weakest tier it may run in
    sockets: tuple[str, ...] = ()  # Unix sockets of the project that a run may see
    stage: bool = False  # changes are held for review


ANALYZE = Profile("analyze", ProjectAccess.COPY_ON_WRITE)
BUILD = Profile("build", ProjectAccess.COMMIT)
PROFILES = {profile.name: profile for profile in (ANALYZE, BUILD)}


Consent = Callable[[Mapping[str, Any]], Awaitable[bool | None]]
"""Asks the user for approval, given the verdict as JSON. None: no user could be asked."""

Preparing = Callable[[str], AbstractContextManager[object]]
"""Shows the user what is prepared before a program can run, until the block ends."""


@dataclass(frozen=True, slots=True)
class Caller:
    """A caller of the executor."""

    tools: frozenset[str] = frozenset()  # a redirect names only these
    consent: Consent | None = None
    preparing: Preparing = nullcontext
    holder: str = ""  # identifies the caller to the server; empty: the one that started it

    async def settle(self, verdict: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the verdict; if it asks, with the user's answer as `consent`."""
        if verdict["decision"] != "ask":
            return verdict
        consent = None if self.consent is None else await self.consent(verdict)
        return {**verdict, "consent": consent}


def refusal(verdict: Mapping[str, Any]) -> Status | None:
    """Return the status of a run that a settled verdict refuses; None if it may start."""
    if verdict["decision"] == "redirect":
        return Status.REDIRECTED
    if verdict["decision"] == "deny" or (
        verdict["decision"] == "ask" and not verdict.get("consent")
    ):
        return Status.DENIED
    return None


CODE_BYTES_MAX = 4 * MIB
PATTERN_CHARS_MAX = 1024
ANY_FOLDERS_MAX = 8
SESSION_NAME_MAX = 100
LEAST = {"memory_bytes": 4 * MIB, "processes": 2, "open_files": 8, "scratch_inodes": 8}
"""The limits below which not even `true` was started, in trials of each in tier A."""


@dataclass(frozen=True, slots=True)
class CheckedRequest:
    """A request whose every part exists, is allowed to be named, and is resolved.

    It may be placed once it was judged, which adds the verdict.
    """

    request: Request
    language: runtimes.Language
    text: str  # what policy screens: the code, or the script's content
    script: str | None  # the real path of a script; None for code
    bind_file: str | None
    cwd: str
    limits: Limits
    profile: Profile
    caller: Caller = Caller()
    packages: Wanted | None = None  # those that it names
    rules: policy.Rules | None = None  # that judged it; None if none apply
    verdict: Mapping[str, Any] | None = None  # once it may be placed

    @property
    def known_env(self) -> dict[str, str]:
        """Return the known variables of the program, with the path of its bound file."""
        given = dict(self.request.env)
        bound = {} if self.bind_file is None else {"FILE_CONTENT_PATH": self.bind_file}
        # An interpreter that lives on sets the name itself, at each call.
        return bound | given if self.request.session is None else given | bound


def check(
    request: Request,
    search: ProjectSearch,
    profiles: Mapping[str, Profile],
    limits: Limits | None = None,
) -> CheckedRequest:
    """Resolve a request. Paths become real paths, so that no link points outside the project.

    `limits` are used if the request has none.

    Raises:
        RequestError: some part can't be run as asked.
    """
    project = search.project
    cwd = str(project) if request.cwd is None else _folder(request.cwd, project)
    if (request.code is None) == (request.path is None):
        raise RequestError("a request needs either code or a path, not both", "Give one of them.")
    script = None if request.path is None else _file(request.path, cwd, project)
    text = _script_text(script, search) if script else _code_text(request.code or "")
    try:
        row = runtimes.language(request.language)
    except runtimes.UnknownLanguage as error:
        raise RequestError(str(error), "Name one of the known languages.") from error
    if request.profile not in profiles:
        hint = list_choices(request.profile, profiles)
        raise RequestError(f"unknown profile {request.profile!r}", hint)
    if request.session is not None:
        _check_session(request, request.session)
    elif request.interactive:
        raise RequestError("an interactive run needs a session", "Name a session.")
    elif request.fresh:
        raise RequestError("fresh needs a session", "Name the session.")
    for pattern in request.artifacts:
        if len(pattern) > PATTERN_CHARS_MAX or pattern.count("**") > ANY_FOLDERS_MAX:
            raise RequestError(
                f"artifact pattern {pattern[:80]!r} has over {PATTERN_CHARS_MAX:,} characters or "
                f"{ANY_FOLDERS_MAX} times **",
                "Name the files, or their folder.",
            )
    for name, value in (*request.env.items(), *(("argument", arg) for arg in request.args)):
        if "\0" in name + value or "=" in name:
            raise RequestError(f"{name!r} holds a NUL byte or a misplaced =", "Remove it.")
    return CheckedRequest(
        request=request,
        language=row,
        text=text,
        script=script,
        bind_file=None if request.bind_file is None else _file(request.bind_file, cwd, project),
        cwd=cwd,
        limits=_limits(request, limits or Limits()),
        profile=_stage(profiles[request.profile]) if request.stage else profiles[request.profile],
    )


def _stage(profile: Profile) -> Profile:
    """Return the profile with its changes held for review."""
    if profile.project in {ProjectAccess.READ_ONLY, ProjectAccess.LIVE}:
        raise RequestError(
            f"profile {profile.name} has no changes to stage: its project is "
            f"{profile.project.value.replace('_', ' ')}",
            "Use profile analyze or build.",
        )
    return replace(profile, project=ProjectAccess.COMMIT, stage=True)


def _check_session(request: Request, session: str) -> None:
    if not session.strip() or len(session) > SESSION_NAME_MAX:
        raise RequestError(
            "invalid session name", f"Give a name of 1 to {SESSION_NAME_MAX} characters."
        )
    if request.drain:
        raise RequestError("a session cannot drain its output", "Run without a session.")
    if request.stdin is not None:
        raise RequestError(
            "a session's programs get no stdin",
            "Put the data into a file, or run without a session.",
        )
    if request.background:
        raise RequestError("a background run cannot use a session", "Omit one of the two.")
    if request.stage:
        raise RequestError("a session cannot stage changes", "Run without a session.")


def _limits(request: Request, usual: Limits) -> Limits:
    limits = request.limits or usual
    for name, least in LEAST.items():
        if (given := getattr(limits, name)) < least:
            raise RequestError(
                f"limit {name} of {given:,} is below the minimum of {least:,}",
                f"Set it to {least} or more.",
            )
    if request.timeout_s is None:
        return limits
    try:
        return replace(limits, wall_s=request.timeout_s)
    except ValueError as error:
        raise RequestError(str(error), "Give the timeout as a positive number.") from error


def _folder(cwd: str, project: Path) -> str:
    real = _inside(cwd, str(project), project, "cwd")
    if not os.path.isdir(real):
        raise RequestError(f"cwd {cwd!r} is not a folder", "Name a folder of the project.")
    return real


def _file(path: str, cwd: str, project: Path) -> str:
    real = _inside(path, cwd, project, "file")
    try:
        mode = os.stat(real).st_mode
    except OSError as error:
        raise RequestError(
            f"cannot read {path!r}: {error.strerror}", f"Check the path: {real}"
        ) from error
    if not stat.S_ISREG(mode):
        kind = "it is a folder" if stat.S_ISDIR(mode) else "not a regular file"
        raise RequestError(f"cannot read {path!r}: {kind}", "Name a regular file.")
    if not os.access(real, os.R_OK):
        raise RequestError(f"cannot read {path!r}: permission denied", "Check its mode and owner.")
    return real


def _inside(path: str, base: str, project: Path, what: str) -> str:
    if "\0" in path:
        raise RequestError(f"the {what} path holds a NUL byte", "Remove it.")
    real = real_path(os.path.join(base, path))
    if real != str(project) and not real.startswith(f"{str(project).rstrip('/')}/"):
        raise RequestError(
            f"{what} {path!r} is outside the project {project}",
            "Stay inside the project, or choose another one with --project.",
        )
    return real


def _code_text(code: str) -> str:
    if not code.strip():
        raise RequestError("the code is empty", "Give a program to run.")
    if "\0" in code:
        raise RequestError(
            f"the code holds a NUL byte at character {code.index(chr(0))}",
            "Write it as an escape of the language.",
        )
    try:
        size = len(code.encode())
    except UnicodeEncodeError as error:
        raise RequestError(
            f"the code is not valid Unicode at character {error.start}", "Send it as UTF-8."
        ) from error
    _check_size(size)
    return code


def _script_text(path: str, search: ProjectSearch) -> str:
    if search.denies(path):
        return ""  # the verdict on reading it refuses the run anyway
    try:
        with open_project_file(path, str(search.project), search.hides) as file:
            _check_size(os.fstat(file.fileno()).st_size)
            content = file.read(CODE_BYTES_MAX)
    except HiddenError as error:
        raise RequestError(
            f"{path} is hidden from programs: {error.strerror}", "Name another script."
        ) from error
    except OSError as error:
        raise RequestError(f"cannot read {path}: {error.strerror}") from error
    return content.decode(errors="replace")


def _check_size(size: int) -> None:
    if size > CODE_BYTES_MAX:
        raise RequestError(
            f"the program has {size:,} bytes; at most {CODE_BYTES_MAX:,} are allowed",
            "Put data into a file, and let the program read it.",
        )


def describe_subject(checked: CheckedRequest, project: str, home: str) -> policy.Subject:
    """Describe a program to those that judge it."""
    return policy.Subject(
        language=checked.language.name,
        code=checked.text,
        cwd=checked.cwd,
        project=project,
        home=home,
        env=checked.known_env,
        surface="sandbox",
        complete=runtimes.completion(
            checked.language,
            is_script=checked.script is not None,
            in_session=checked.request.session is not None,
            interactive=checked.request.interactive,
        ),
    )
