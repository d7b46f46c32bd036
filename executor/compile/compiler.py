"""Compiled programs: compiled in a cell without the project, stored, and run from the store.

A product is stored only if it is a function of its key: the source, the toolchain's files, the
flags, the system's packages. Hence the compiler's cell shows no file of the project except the
source, and has no network and none of the request's variables. A source that may read more, by its
row's `inputs`, is compiled in the cell of its run.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import trio

import runtimes
from base.plain_files import replace_file
from executor.engine.box import Layout, Order
from executor.engine.engine import Completed
from executor.engine.layers import for_run
from executor.instance import lock
from executor.instance.lock import remove
from executor.model import MIB, Result, Status, Usage
from executor.request import CheckedRequest, Profile, ProjectAccess
from executor.run.execution import Execution, build_order, label
from executor.run.refusals.collecting import of_compiling, with_earlier
from executor.run.runner import Runner
from policy.project_file import open_project_file

# Only a server writes here, what a compiler left in a cell without the project; programs never see
# the folder. One file an entry, replaced as a whole, so that several servers may share it.

BYTES_MAX = 256 * MIB
KEPT_SHARE = 0.8  # how full the folder is after the least recently used have gone


Compiled = tuple[Mapping[str, bytes], bytes]
"""Products by their path below the scratch folder's, and what the compiler said of them."""
_Plan = tuple[str, runtimes.Program, bytes | None]
"""A program to compile by itself: its key, and the text of a script, shown at its own place."""


class CompiledStore:
    """The folder of one user's products."""

    def __init__(self, folder: Path, bytes_max: int = BYTES_MAX) -> None:
        self.folder = folder
        self._bytes_max = bytes_max

    def load(self, key: str) -> Compiled | None:
        """Return the products stored under a key, and mark them as used; None if damaged."""
        path = self.folder / key
        try:
            packed = path.read_bytes()
            os.utime(path)
        except OSError:
            return None
        compiled = _unpack(packed)
        if compiled is None:
            path.unlink(missing_ok=True)
        return compiled

    def store(self, key: str, compiled: Compiled) -> None:
        """Store products, and remove those used longest ago. A full disk stores nothing."""
        packed = _pack(compiled)
        if len(packed) > self._bytes_max * KEPT_SHARE:
            return
        with contextlib.suppress(OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_file(self.folder / key, packed)
            self._trim()

    def _trim(self) -> None:
        entries = []
        for path in self.folder.iterdir():
            with contextlib.suppress(FileNotFoundError):  # another server was faster
                status = path.stat()
                entries.append((status.st_mtime_ns, status.st_size, path))
        total = sum(size for _, size, _ in entries)
        if total <= self._bytes_max:
            return
        for _, size, path in sorted(entries):
            if total <= self._bytes_max * KEPT_SHARE:
                break
            path.unlink(missing_ok=True)
            total -= size


def _pack(compiled: Compiled) -> bytes:
    """Encode a line of JSON, then the contents in its order; the digest is over them."""
    made, diagnosis = compiled
    contents = b"".join((*made.values(), diagnosis))
    header = {
        "files": [[path, len(content)] for path, content in made.items()],
        "digest": hashlib.sha256(contents).hexdigest(),
    }
    return json.dumps(header).encode() + b"\n" + contents


def _unpack(packed: bytes) -> Compiled | None:
    line, _, contents = packed.partition(b"\n")
    try:
        header = json.loads(line)
        if hashlib.sha256(contents).hexdigest() != header["digest"]:
            return None
        files, at = {}, 0
        for path, size in header["files"]:
            files[path] = contents[at : at + size]
            at += size
    except (ValueError, KeyError, TypeError):
        return None
    return files, contents[at:]


KEY_VERSION = 1
PRODUCT_BYTES_MAX = 64 * MIB
DIAGNOSIS_BYTES_MAX = 256 * 1024
COMPILING = Profile("compile", ProjectAccess.READ_ONLY)
# Installing a package changes what compilers find, and touches one of these.
SYSTEM_MARKS = (
    "/var/lib/dpkg/status",
    "/var/lib/rpm/rpmdb.sqlite",
    "/lib/apk/db/installed",
    "/var/lib/pacman/local",
    "/usr/include",
    "/usr/local/include",
    "/usr/local/lib",
)
# It comes last, so that the compiler before it is treated as it is beside a run.
_DONE = runtimes.Step(("/bin/sh", "-c", ":"), "run")


class Compiler:
    """The runs of requests, with stored products of compiled programs."""

    def __init__(self, runner: Runner, store: CompiledStore, project: Path) -> None:
        self._runner = runner
        self._store = store
        self._project = project
        self._impure: set[str] = set()  # programs that turned out to need the project
        # What programs of the project may write, no server may trust.
        self._may_keep = not store.folder.is_relative_to(project)
        self._may_keep = self._may_keep and runner.placement.can.keeps_products

    async def run(self, execution: Execution, version: str | None) -> Completed:
        """Run one program, from its placing to its end. Cancelling ends all of it.

        Raises:
            RequestError: the profile can't be given for this project here.
            OSError: its output can't be spooled, or its script not be read.
        """
        plan = await trio.to_thread.run_sync(self._plan, execution, version)
        if plan is None:
            return await execution.start(self._runner)
        key, program, _ = plan
        compiled = await trio.to_thread.run_sync(self._store.load, key)
        if compiled is not None:
            kept = replace(execution, products=compiled[0], diagnosis=compiled[1])
            done = await kept.start(self._runner)
            return replace(done, result=replace(done.result, compiled="kept"))
        attempt = await self._compile(plan, execution)
        spent = attempt.result.usage
        later = replace(execution, spent=spent)
        compiled = await trio.to_thread.run_sync(_take_products, program.products, attempt)
        if compiled is not None:
            await trio.to_thread.run_sync(self._store.store, key, compiled)
            made = replace(later, products=compiled[0], diagnosis=compiled[1])
            done = _with_usage(await made.start(self._runner), spent)
            result = with_earlier(done.result, attempt.result)
            return replace(done, result=replace(result, compiled="now"))
        if _is_final(attempt.result, execution.candidate):
            final, complaint = await trio.to_thread.run_sync(
                self._final, attempt, execution.checked
            )
            if execution.on_output is not None:
                execution.on_output("stderr", complaint)
            return final
        self._impure.add(key)
        await trio.to_thread.run_sync(_discard, attempt)
        return _with_usage(await later.start(self._runner), spent)

    def _plan(self, execution: Execution, version: str | None) -> _Plan | None:
        """Plan a separate compilation of a request's program; None if it must see the project."""
        checked, candidate = execution.checked, execution.candidate
        request, inputs = checked.request, candidate.toolchain.inputs
        assert inputs is not None
        if candidate.project_specific or not self._may_keep:
            return None
        if request.env or checked.profile.env or runtimes.reaches(inputs, checked.text):
            return None
        folders = _folders_above(checked, self._project)
        if runtimes.heeds(inputs, folders, except_for=checked.script):
            return None
        layout = Layout(project=str(self._project))
        program = runtimes.prepare(
            candidate,
            code=checked.text if checked.script is None else None,
            script_path=checked.script,
            bind_file=checked.bind_file,
            job_dir=layout.job,
            scratch_dir=layout.scratch,
            cwd=checked.cwd,
        )
        script = self._read_script(checked.script) if checked.script else None
        key = _key(program, candidate, version, script)
        return None if key in self._impure else (key, program, script)

    def _read_script(self, path: str) -> bytes:
        hides = self._runner.placement.search.hides
        with open_project_file(path, str(self._project), hides) as file:
            return file.read()

    async def _compile(self, plan: _Plan, execution: Execution) -> Completed:
        above, checked = self._runner.placement.temporary, execution.checked
        with _substitute(above, self._project, checked, plan[2]) as folder:
            return await self._runner.run(
                lambda layout: _compile_job(plan, execution, layout, folder.name),
                profile=COMPILING,
                owner=None if checked.request.background else checked.request.owner,
                observe=execution.observe,
            )

    def _final(self, attempt: Completed, checked: CheckedRequest) -> tuple[Completed, bytes]:
        """Return a failed compilation as the request's result, and all the compiler's messages."""
        _discard_artifacts(attempt.result)
        complaint = _whole(attempt, len_max=None) or b""
        isolation = for_run(self._runner.placement.isolation, checked.profile)
        result = replace(
            attempt.result,
            profile=checked.profile.name,
            isolation=isolation,
            artifacts=(),
            refusals=of_compiling(attempt.result),
        )
        return replace(attempt, result=result), complaint


def _compile_job(plan: _Plan, execution: Execution, layout: Layout, substitute: str) -> Order:
    (_, program, script), checked = plan, execution.checked
    steps = [step for step in program.steps if step.phase == "compile"]
    found = [pattern for path in program.products for pattern in (path, f"{path}/**/*")]
    prewarm = program.compiler_prewarm
    if prewarm is not None:
        prewarm = prewarm._replace(steps=(*prewarm.steps, _DONE))
    return build_order(
        program._replace(steps=(*steps, _DONE), prewarm=prewarm),
        execution.candidate,
        layout,
        cwd=checked.cwd,
        limits=replace(checked.limits, artifact_bytes=PRODUCT_BYTES_MAX),
        artifacts=tuple(found),
        profile=COMPILING,
        substitute=substitute,
        may_be_prewarmed=prewarm is not None
        and script is None,  # else what is shown is there but once
        shown=(*execution.shown, *execution.packages),
        label=label(checked),
    )


def _key(
    program: runtimes.Program,
    candidate: runtimes.Candidate,
    version: str | None,
    script: bytes | None,
) -> str:
    """Return the digest of all that the products depend on."""
    parts = {
        "version": KEY_VERSION,
        "machine": platform.machine(),
        "toolchain": [candidate.toolchain.name, version, candidate.fingerprint],
        "paths": [dict(candidate.paths), dict(candidate.real_paths)],
        "compile": [step.argv for step in program.steps if step.phase == "compile"],
        "env": sorted(program.env.items()),
        "files": {name: _digest(content) for name, content in sorted(program.files.items())},
        "script": script and _digest(script),
        "links": sorted(program.links.items()),
        "products": program.products,
        "system": [_mark(path) for path in SYSTEM_MARKS],
    }
    return _digest(json.dumps(parts, sort_keys=True).encode())


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _mark(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _folders_above(checked: CheckedRequest, project: Path) -> list[Path]:
    """Return the working folder, the script's, and those above them up to the project's."""
    starts = [Path(checked.cwd), *([Path(checked.script).parent] if checked.script else [])]
    found = {f for start in starts for f in (start, *start.parents) if f.is_relative_to(project)}
    return sorted(found)


@contextmanager
def _substitute(
    above: Path, project: Path, checked: CheckedRequest, script: bytes | None
) -> Iterator[Path]:
    """Yield a folder with the script and an empty working folder, as a substitute for the project.

    Without a script it is always the same folder, as prewarmed cells show that one.
    """
    lock.own_folder(above)
    within = Path(checked.cwd).relative_to(project)
    if checked.script is None:
        folder = above / f"empty-{_digest(str(within).encode(errors='surrogateescape'))[:32]}"
        _make_readable(folder, within)
        yield folder
        return
    folder = Path(tempfile.mkdtemp(dir=above))
    try:
        _make_readable(folder, within)
        if script is not None:
            within = Path(checked.script).relative_to(project)
            _make_readable(folder, within.parent)
            (folder / within).write_bytes(script)
            os.chmod(folder / within, 0o644)
        yield folder
    finally:
        remove(folder)


def _make_readable(top: Path, within: Path) -> None:
    """Make folders readable for another user: cells of a root server have a separate user."""
    (top / within).mkdir(parents=True, exist_ok=True)
    for folder in (top, *(top / part for part in (within, *within.parents))):
        os.chmod(folder, 0o755)  # noqa: S103 - the folder above tells nobody its name


def _take_products(products: tuple[str, ...], attempt: Completed) -> Compiled | None:
    """Take the products of a compilation, all of them and nothing else; None if it gave none."""
    result = attempt.result
    if result.status is not Status.OK:
        return None
    diagnosis = _whole(attempt, DIAGNOSIS_BYTES_MAX)
    files = {
        artifact.name: Path(artifact.path).read_bytes()
        for artifact in result.artifacts
        if artifact.path is not None and _is_product(artifact.name, products)
    }
    if diagnosis is None or not files or len(files) < len(result.artifacts):
        return None
    _discard(attempt)
    return files, diagnosis


def _is_product(name: str, products: tuple[str, ...]) -> bool:
    inside = ".." not in Path(name).parts and "\ufffd" not in name
    return inside and any(name == path or name.startswith(f"{path}/") for path in products)


def _whole(completed: Completed, len_max: int | None) -> bytes | None:
    """Return all of stderr, byte for byte; None if it is too long or not text."""
    stream, spool = completed.result.stderr, completed.stderr_spool
    if len_max is not None and (stream.bytes_total > len_max or stream.binary):
        return None
    return spool.read_bytes() if spool else stream.head.encode()


def _is_final(result: Result, candidate: runtimes.Candidate) -> bool:
    """Return whether a failed compilation would fail with the project, too."""
    if result.status in (Status.OK, Status.SANDBOX_ERROR):
        return False
    inputs = candidate.toolchain.inputs
    return result.status is not Status.NONZERO_EXIT or (inputs is not None and inputs.complete)


def _discard(attempt: Completed) -> None:
    attempt.delete_spools()
    _discard_artifacts(attempt.result)


def _discard_artifacts(result: Result) -> None:
    for artifact in result.artifacts:
        if artifact.path is not None:
            Path(artifact.path).unlink(missing_ok=True)


def _with_usage(completed: Completed, spent: Usage) -> Completed:
    """Return the whole request's use: compiling came first."""
    usage = completed.result.usage
    both = replace(usage, wall_s=usage.wall_s + spent.wall_s, cpu_s=usage.cpu_s + spent.cpu_s)
    return replace(completed, result=replace(completed.result, usage=both))
