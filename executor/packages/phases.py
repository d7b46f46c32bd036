"""One phase of packages, in its own cell: its program, its files, the cause of a failure.

The cell shows an empty folder instead of the project, and has none of the user's variables. The
supervisor packs the files of the phase when all its processes are dead.
"""

from __future__ import annotations

import contextlib
import posixpath
import re
import stat
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import runtimes
from executor.engine.box import Layout, Order
from executor.engine.engine import Completed
from executor.engine.unpacking import read_entries, unpack
from executor.instance import lock
from executor.model import MIB, Connection, Limits, PackagesError, Result, SandboxError, Status
from executor.network import Allowlist
from executor.request import NO_NETWORK, Profile, ProjectAccess
from executor.run.execution import build_order, grant_environment
from executor.run.runner import Runner
from executor.spawner.artifacts import TOO_LARGE
from runtimes.languages import read_file
from runtimes.packages import SHARED, Ecosystem, Tool, find_tool

LINES_MAX = 6
LINE_CHARS_MAX = 300
_LIMITS = {
    Status.DISK_LIMIT: "its unpacked files exceed the disk limit",
    Status.TIMED_OUT: "it exceeded the time limit",
    Status.CPU_LIMIT: "it exceeded the CPU time limit",
    Status.MEMORY_LIMIT: "it exceeded the memory limit",
    Status.OUTPUT_LIMIT: "its tool exceeded the output limit",
    Status.PROCESS_LIMIT: "it exceeded the process limit",
}
_FULL = re.compile(r"No space left on device|ENOSPC|[Dd]isk quota exceeded")
_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
NOT_ALLOWED = "the profile does not name it"


def explain(row: Ecosystem, phase: str, result: Result, bytes_max: int) -> tuple[str, str]:
    """Return the message and the hint for a phase that failed, or whose files are refused.

    `bytes_max` is the limit of its files.
    """
    head = f"packages of {row.title} were not {_DONE[phase]}"
    if result.ok and result.artifacts:
        return _explain_kept_back(head, result.artifacts[0].reason, bytes_max)
    said = [_ESCAPES.sub("", line).rstrip() for line in result.stderr.text.splitlines()]
    text = "\n".join(line[:LINE_CHARS_MAX] for line in said if line.strip())
    status = Status.DISK_LIMIT if _FULL.search(text) else result.status
    if status in _LIMITS:
        return f"{head}: {_LIMITS[status]}", "Name fewer or smaller packages."
    if result.status not in (Status.OK, Status.NONZERO_EXIT):
        return f"{head}: {result.message or result.status.value}", "Try again."
    refused = [one for one in result.connections if one.reason]
    for one in refused:
        if not one.allowed:
            return _explain_refused(row, head, one)
    for one in refused:
        return (
            f"{head}: the registry {one.host} did not answer: {one.reason}",
            "Try again, or set a registry that answers under "
            f"[packages.{row.name}] in your configuration.",
        )
    why = next((words for pattern, words in row.complaints if re.search(pattern, text)), "")
    tail = "\n".join(text.splitlines()[-LINES_MAX:])
    return f"{head}: {why or f'its tool ended with {result.exit_code}'}\n{tail}".rstrip(), ""


_DONE = {"lock": "locked", "fetch": "fetched", "build": "built"}


def _explain_kept_back(head: str, reason: str, bytes_max: int) -> tuple[str, str]:
    if TOO_LARGE not in reason:
        return f"{head}: the unpacked files were not stored: {reason}", ""
    return (
        f"{head}: the unpacked files exceed {bytes_max:,} bytes",
        "Name fewer or smaller packages, or set a larger layer_bytes under [packages] in your "
        "configuration",
    )


def _explain_refused(row: Ecosystem, head: str, refused: Connection) -> tuple[str, str]:
    where = refused.host if refused.port in (0, 443) else f"{refused.host}:{refused.port}"
    table = f"[packages.{row.name}] in your configuration"
    if "not public" in refused.reason:
        return (
            f"{head}: the registry {where} {refused.reason}",
            f"If it belongs to your network, set private = true under {table}.",
        )
    if refused.reason == NOT_ALLOWED or "port" in refused.reason:
        return (
            f"{head}: {where} is not one of its registries",
            f"To get packages from there, add it to hosts under {table}.",
        )
    return f"{head}: {where}: {refused.reason}", f"Set a registry under {table}."


OWN_BYTES = 128 * MIB  # used by a phase's tools themselves


def limits_of(layer_bytes: int) -> Limits:
    """Return the limits of one phase. Its scratch has the downloaded and unpacked files.

    Files packed for the server are in memory.
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
    inputs: Mapping[str, bytes] = field(default_factory=dict)  # by name
    reach: Allowlist = NO_NETWORK  # registries of the phase
    ca: str = ""  # text of certificates to trust in addition to the system's
    env: Mapping[str, str] = field(default_factory=dict)
    shown: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Phases:
    """The runs of phases with the toolchains of one server."""

    runner: Runner
    cwd: str
    limits: Limits

    @asynccontextmanager
    async def run(self, phase: Phase, candidate: runtimes.Candidate) -> AsyncIterator[Path]:
        """Run a phase; yield the bundle of its files, which is deleted when the block ends.

        Raises:
            PackagesError: it failed, or its files cannot be stored; the message says why.
        """
        profile = Profile(NAME, ProjectAccess.READ_ONLY, phase.reach)
        with lock.empty_folder(self.runner.placement.temporary) as substitute:
            try:
                completed = await self.runner.run(
                    lambda layout: self._job(phase, candidate, layout, profile, substitute),
                    profile=profile,
                    owner=None,
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
    ) -> Order:
        given, out = f"{layout.job}/in", f"{layout.scratch}/out"
        image = self.runner.placement.image(candidate.language.name)
        needed = _needed(phase.row, phase.inputs)
        by_name = [tool.name for tool in needed if image and not tool.portable]
        tools, env = _tools(phase.row, needed, by_name)
        files = {f"in/{name}": content for name, content in phase.inputs.items()}
        files |= {
            f"programs/{posixpath.basename(path)}": read_file(path).encode()
            for path in phase.row.programs
        }
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
        return build_order(
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
    """Read the files of a small bundle by their names; links and folders are skipped.

    Raises:
        PackagesError: they are larger than `bytes_max`, or can't be read.
    """
    try:
        with open(bundle, "rb") as file:
            entries = read_entries(file, bytes_max)
            return {e.name: e.read() for e in entries if stat.S_ISREG(e.mode) and not e.is_again}
    except SandboxError as error:
        raise PackagesError(f"the lock was not stored: {error}") from error


def unpack_bundle(bundle: Path, folder: Path, bytes_max: int) -> None:
    """Unpack the files of a phase into a folder of the host.

    Raises:
        PackagesError: they are too large, a file is refused, or the disk is full.
    """
    try:
        with open(bundle, "rb") as file:
            unpack(file, folder, bytes_max)
    except SandboxError as error:
        raise PackagesError(f"the unpacked packages were not stored: {error}") from error
    except OSError as error:
        raise _no_room(error, folder.parent) from error


def _no_room(error: OSError, place: object) -> PackagesError:
    return PackagesError(
        f"the packages cannot be stored in {place}: {error.strerror}",
        "Free some space there, or check its owner and mode.",
    )


def _must_be_there(name: str) -> str:
    """Return a line of the shell that fails if an image lacks a program."""
    words = f"{name} is not in the image of this language"
    return f'command -v {name} >/dev/null || {{ echo "{words}" >&2; exit 1; }}\n'


def _needed(row: Ecosystem, inputs: Mapping[str, bytes]) -> tuple[Tool, ...]:
    """Return the tools that an ecosystem's phases need with these inputs."""
    return (*row.tools, *(row.lock_tools[name] for name in inputs if name in row.lock_tools))


def _tools(
    row: Ecosystem, needed: Sequence[Tool], by_name: Collection[str]
) -> tuple[tuple[tuple[str, str], ...], dict[str, str]]:
    """Return the tools that a cell shows, and the variables that name them.

    Those `by_name` are an image's own, at any path.

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
                f"packages of {row.title} need {tool.name}, which is not installed", tool.hint
            )
        path, whole = found
        at = f"{TOOL_AT}/{tool.name}"
        if whole == SHARED:
            at += "/node_modules"  # the name by which node finds the parts
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
