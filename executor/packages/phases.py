"""One phase of having packages, in a cell of its own: program, what it leaves, why it failed.

The cell shows an empty folder in the project's place, and has none of the user's variables. The
supervisor packs what the phase leaves, when every process of it is dead.
"""

from __future__ import annotations

import contextlib
import re
import stat
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import runtimes
from executor.engine.box import Job, Layout
from executor.engine.engine import Completed
from executor.engine.unpacking import read_entries, unpack
from executor.instance import lock
from executor.model import MIB, Connection, Limits, PackagesError, Result, SandboxError, Status
from executor.network import Allowlist
from executor.request import NO_NETWORK, Profile, ProjectAccess
from executor.run.execution import grant_environment, job_of
from executor.run.runner import Runner
from executor.spawner.artifacts import TOO_LARGE
from runtimes.packages import SHARED, Ecosystem, Tool, find_tool, read_program

LINES_MAX = 6
LINE_CHARS_MAX = 300
_LIMITS = {
    Status.DISK_LIMIT: "what it unpacks to is more than may be written",
    Status.TIMED_OUT: "it took longer than it may",
    Status.CPU_LIMIT: "it took more processor time than it may",
    Status.MEMORY_LIMIT: "it took more memory than it may",
    Status.OUTPUT_LIMIT: "its tool printed more than it may",
    Status.PROCESS_LIMIT: "it started more processes than it may",
}
_FULL = re.compile(r"No space left on device|ENOSPC|[Dd]isk quota exceeded")
_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
NOT_ALLOWED = "the profile does not name it"


def explain(row: Ecosystem, phase: str, result: Result, bytes_max: int) -> tuple[str, str]:
    """Return the message and the hint for a phase that failed, or left what is not handed back.

    `bytes_max` is what it may leave.
    """
    head = f"packages of {row.title} were not {_DONE[phase]}"
    if result.ok and result.artifacts:
        return _explain_kept_back(head, result.artifacts[0].reason, bytes_max)
    said = [_ESCAPES.sub("", line).rstrip() for line in result.stderr.text.splitlines()]
    text = "\n".join(line[:LINE_CHARS_MAX] for line in said if line.strip())
    status = Status.DISK_LIMIT if _FULL.search(text) else result.status
    if status in _LIMITS:
        return f"{head}: {_LIMITS[status]}", "name fewer or smaller packages"
    if result.status not in (Status.OK, Status.NONZERO_EXIT):
        return f"{head}: {result.message or result.status.value}", "try again"
    refused = [one for one in result.connections if one.reason]
    for one in refused:
        if not one.allowed:
            return _explain_refused(row, head, one)
    for one in refused:
        return (
            f"{head}: the registry {one.host} did not answer: {one.reason}",
            "try again, or name a registry that answers under "
            f"[packages.{row.name}] in your configuration",
        )
    why = next((words for pattern, words in row.complaints if re.search(pattern, text)), "")
    tail = "\n".join(text.splitlines()[-LINES_MAX:])
    return f"{head}: {why or f'its tool ended with {result.exit_code}'}\n{tail}".rstrip(), ""


_DONE = {"lock": "locked", "fetch": "fetched", "build": "built"}


def _explain_kept_back(head: str, reason: str, bytes_max: int) -> tuple[str, str]:
    if TOO_LARGE not in reason:
        return f"{head}: what they unpack to is not kept: {reason}", ""
    return (
        f"{head}: what they unpack to is larger than {bytes_max:,} bytes",
        "name fewer or smaller packages, or set a larger layer_bytes under [packages] in your "
        "configuration",
    )


def _explain_refused(row: Ecosystem, head: str, refused: Connection) -> tuple[str, str]:
    where = refused.host if refused.port in (0, 443) else f"{refused.host}:{refused.port}"
    table = f"[packages.{row.name}] in your configuration"
    if "not public" in refused.reason:
        return (
            f"{head}: the registry {where} {refused.reason}",
            f"if it is your network's own, say private = true under {table}",
        )
    if refused.reason == NOT_ALLOWED or "port" in refused.reason:
        return (
            f"{head}: {where} is none of its registries",
            f"if packages are to come from there, name it in hosts under {table}",
        )
    return f"{head}: {where}: {refused.reason}", f"name a registry under {table}"


OWN_BYTES = 128 * MIB  # what a phase's tools take themselves


def limits_of(layer_bytes: int) -> Limits:
    """Return the limits of one phase. Its scratch holds what is downloaded and unpacked.

    What is packed of that for the server is in memory.
    """
    scratch = OWN_BYTES + 2 * layer_bytes
    return Limits(
        wall_s=600,
        cpu_s=1200,
        memory_bytes=OWN_BYTES * 8 + scratch + layer_bytes,
        file_bytes=OWN_BYTES + layer_bytes,
        scratch_bytes=scratch,
        scratch_inodes=400_000,
        output_bytes=4 * MIB,
        artifact_bytes=layer_bytes,
    )


SYSTEM_CA = "/etc/ssl/certs/ca-certificates.crt"
TOOL_AT = "/packages/tools"
NAME = "packages"


@dataclass(frozen=True, slots=True)
class Phase:
    """A phase of one ecosystem."""

    name: str  # lock, fetch or build
    row: Ecosystem
    program: str  # of the shell
    inputs: Mapping[str, bytes] = field(default_factory=dict)  # what it is given
    reach: Allowlist = NO_NETWORK  # what it may reach
    ca: str = ""  # text of certificates to trust besides the system's
    env: Mapping[str, str] = field(default_factory=dict)
    shown: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Phases:
    """Runs phases with the toolchains of one server."""

    runner: Runner
    cwd: str
    limits: Limits

    @asynccontextmanager
    async def run(self, phase: Phase, candidate: runtimes.Candidate) -> AsyncIterator[Path]:
        """Run a phase; the bundle of what it left, which is deleted at the block's end.

        Raises:
            PackagesError: it failed, or what it left can't be stored; the message says why.
        """
        profile = Profile(NAME, ProjectAccess.READ_ONLY, phase.reach)
        with lock.empty_folder(self.runner.placement.temporary) as substitute:
            try:
                completed = await self.runner.run(
                    lambda layout: self._job(phase, candidate, layout, profile, substitute),
                    profile=profile,
                    waits=False,
                )
            except OSError as error:
                raise _no_room(error, error.filename or "the server's folder") from error
        bundles = [Path(a.path) for a in completed.result.artifacts if a.path is not None]
        try:
            if not completed.result.ok or not bundles:
                limit = self.limits.artifact_bytes
                raise PackagesError(*explain(phase.row, phase.name, completed.result, limit))
            yield bundles[0]
        finally:
            _discard(completed, bundles)

    def _job(
        self,
        phase: Phase,
        candidate: runtimes.Candidate,
        layout: Layout,
        profile: Profile,
        substitute: str,
    ) -> Job:
        given, out = f"{layout.job}/in", f"{layout.scratch}/out"
        image = self.runner.placement.image(candidate.language.name)
        needed = _needed(phase.row, phase.inputs)
        by_name = [tool.name for tool in needed if image and not tool.portable]
        tools, env = _tools(phase.row, needed, by_name)
        files = {f"in/{name}": content for name, content in phase.inputs.items()}
        files |= {f"programs/{name}": read_program(name).encode() for name in phase.row.programs}
        if phase.ca or image:  # an image need not have this machine's
            files["ca.pem"] = _read_system_ca() + b"\n" + phase.ca.encode()
        files["phase.sh"] = (
            f"set -eu\nmkdir -p {out}/tree\n{''.join(map(_must_be_there, by_name))}"
            f"finish() {{ exit 0; }}\n{phase.program}\n"
        ).encode()
        env = {role.upper(): path for role, path in candidate.real_paths.items()} | env
        env |= {
            "PROGRAMS": f"{layout.job}/programs",
            "IN": given,
            "OUT": f"{out}/tree",
            "AT": phase.row.at,
            "LANG": "C.UTF-8",
        }
        ca = f"{layout.job}/ca.pem" if "ca.pem" in files else SYSTEM_CA
        env |= {"SSL_CERT_FILE": ca, "NODE_EXTRA_CA_CERTS": ca}
        env |= {
            name: text.replace("{scratch}", layout.scratch)
            for name, text in phase.row.extra_env.items()
        }
        program = runtimes.Program(
            files=files,
            steps=(runtimes.Step(("/bin/sh", f"{layout.job}/phase.sh"), "run"),),
            env={},
        )
        return job_of(
            program,
            candidate,
            layout,
            cwd=self.cwd,
            limits=self.limits,
            env=grant_environment(profile) | env | dict(phase.env),
            packed=(f"{out}/tree", ()),
            profile=profile,
            substitute=substitute,
            may_be_prewarmed=False,
            shown=(*tools, *phase.shown),
            label=f"packages: {phase.row.name}, {phase.name}",
        )


def read_files(bundle: Path, bytes_max: int) -> dict[str, bytes]:
    """Read the files of a small bundle by their names; links and folders are left out.

    Raises:
        PackagesError: they are larger than `bytes_max`, or can't be read.
    """
    try:
        with open(bundle, "rb") as file:
            entries = read_entries(file, bytes_max)
            return {e.name: e.read() for e in entries if stat.S_ISREG(e.mode) and not e.is_again}
    except SandboxError as error:
        raise PackagesError(f"the lock is not kept: {error}") from error


def unpack_bundle(bundle: Path, folder: Path, bytes_max: int) -> None:
    """Unpack what a phase left into a folder of the host.

    Raises:
        PackagesError: it is too large, some of it is refused, or there is no room.
    """
    try:
        with open(bundle, "rb") as file:
            unpack(file, folder, bytes_max)
    except SandboxError as error:
        raise PackagesError(f"what the packages unpack to is not kept: {error}") from error
    except OSError as error:
        raise _no_room(error, folder.parent) from error


def _no_room(error: OSError, place: object) -> PackagesError:
    return PackagesError(
        f"the packages can't be stored in {place}: {error.strerror}",
        "free some space there, or check its owner and mode",
    )


def _must_be_there(name: str) -> str:
    """A line of the shell that fails where an image lacks a program."""
    words = f"{name} is not in the image of this language"
    return f'command -v {name} >/dev/null || {{ echo "{words}" >&2; exit 1; }}\n'


def _needed(row: Ecosystem, inputs: Mapping[str, bytes]) -> tuple[Tool, ...]:
    """The tools that an ecosystem's phases need with these inputs."""
    return (*row.tools, *(row.lock_tools[name] for name in inputs if name in row.lock_tools))


def _tools(
    row: Ecosystem, needed: Sequence[Tool], by_name: Collection[str]
) -> tuple[tuple[tuple[str, str], ...], dict[str, str]]:
    """What a cell is shown of tools, and the variables that name them.

    Those `by_name` are an image's own, wherever it has them.

    Raises:
        PackagesError: one of them is missing.
    """
    shown, env = [], {}
    for tool in needed:
        if tool.name in by_name:
            env[tool.name.upper()] = tool.name
            continue
        found = find_tool(tool)
        if found is None:
            raise PackagesError(
                f"packages of {row.title} need {tool.name}, which is not here", tool.hint
            )
        path, whole = found
        at = f"{TOOL_AT}/{tool.name}"
        if whole == SHARED:
            at += "/node_modules"  # by which name node looks for the parts
        shown.append((whole, at))
        env[tool.name.upper()] = f"{at}{path.removeprefix(whole)}"
    return tuple(shown), env


def _read_system_ca() -> bytes:
    with contextlib.suppress(OSError):
        return Path(SYSTEM_CA).read_bytes()
    return b""


def _discard(completed: Completed, bundles: list[Path]) -> None:
    for bundle in bundles:
        bundle.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            bundle.parent.rmdir()
    completed.delete_spools()
