"""From a request to a layer of packages: locked, fetched, built, sealed, stored."""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import platform
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import ExitStack, asynccontextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import trio

from executor.instance.lock import remove
from executor.model import MIB, PackagesError
from executor.packages.model import Layer, PackageSettings, Reach, Registry, Wanted, reach_of
from executor.packages.store import TREE, LayerStore
from executor.request import Caller
from executor.toolchains.catalog import ProvenToolchain
from runtimes.packages import BY_NAME, Ecosystem

if TYPE_CHECKING:
    from executor.packages.phases import Phase, Phases
    from executor.run.runner import Runner

LOCK_BYTES_MAX = 16 * MIB
POLL_S = 0.05
KEY_VERSION = 1
PINNED = "That registry has no digests: those of the first download are pinned."

T = TypeVar("T")


class Packages:
    """The packages of one server's runs."""

    def __init__(
        self, runner: Runner, cwd: str, store: LayerStore, settings: PackageSettings
    ) -> None:
        self._runner = runner
        self._cwd = cwd
        self._store = store
        self._settings = settings
        self._is_prepared = False

    @cached_property
    def phases(self) -> Phases:
        """Return the phases that lock, fetch and build, loaded at the first use."""
        from executor.packages.phases import Phases, limits_of  # noqa: PLC0415

        return Phases(self._runner, self._cwd, limits_of(self._settings.layer_bytes))

    async def lock(
        self, wanted: Wanted, toolchain: ProvenToolchain, caller: Caller, *, fresh: bool = False
    ) -> tuple[dict[str, bytes], bool]:
        """Return the files of a lock: the given ones, stored ones unless `fresh`, or new ones.

        Also return whether the user approved it just now.

        Raises:
            PackagesError: it cannot be made, or was not approved.
        """
        if not self._is_prepared:
            await _write(self._store.prepare)
            self._is_prepared = True
        self._check_indexes(wanted)
        if wanted.lock:
            return dict(wanted.lock), False
        key = self._lock_key(wanted, toolchain)
        async with self._hold(key, is_shared=False):
            kept = await trio.to_thread.run_sync(self._store.read_lock, key)
            if kept is not None and not fresh:
                return kept, False
            await self._agree(wanted, caller)
            with caller.preparing(_word_locking(BY_NAME[wanted.ecosystem])):
                files = await self._make_lock(wanted, toolchain)
            await _write(partial(self._store.keep_lock, key, wanted.label, files))
        return files, True

    @asynccontextmanager
    async def layer(
        self, wanted: Wanted, toolchain: ProvenToolchain, caller: Caller, *, fresh: bool = False
    ) -> AsyncIterator[Layer]:
        """Open the layer of the wanted packages until the block ends. See `lock` for `fresh`.

        Raises:
            PackagesError: it cannot be made, or its fetch was not approved.
        """
        files, has_agreed = await self.lock(wanted, toolchain, caller, fresh=fresh)
        row = BY_NAME[wanted.ecosystem]
        key = _digest(self._identity(row, toolchain), _digests(files))
        was_kept = True
        while True:
            async with self._hold(key, is_shared=True):
                if self._store.has(key):  # one call of the system
                    yield self._show(row, key, files, was_kept=was_kept)
                    return
            async with self._hold(key, is_shared=False):
                if not self._store.has(key):
                    was_kept = False
                    if not has_agreed:
                        await self._agree(wanted, caller)
                    with caller.preparing(f"fetching packages of {row.title}: {wanted.label}"):
                        await self._make_layer(key, wanted, files, toolchain)

    async def is_sound(self, layer: Layer, *, in_full: bool) -> bool:
        """Return whether a layer matches its seal; see `LayerStore.is_sound`."""
        check = partial(self._store.is_sound, layer.key, in_full=in_full)
        return await trio.to_thread.run_sync(check)

    async def drop(self, layer: Layer) -> None:
        """Remove a layer that differs from its seal, once no box shows it any more."""
        await trio.to_thread.run_sync(self._store.remove, layer.key)

    def _check_indexes(self, wanted: Wanted) -> None:
        """Refuse a list that names other registries: a public package could have a private name.

        Raises:
            PackagesError: it names one that is not in use.
        """
        row = BY_NAME[wanted.ecosystem]
        own = {row.registry, self._registry(row).url.rstrip("/")}
        if other := next((url for url in wanted.indexes if url.rstrip("/") not in own), ""):
            raise PackagesError(
                f"the list names a registry that is not in use: {_hide_password(other)}",
                f"Remove it, or name it as registry under [packages.{row.name}] in your own "
                "configuration",
            )

    @asynccontextmanager
    async def _hold(self, key: str, *, is_shared: bool) -> AsyncIterator[None]:
        """Hold a key. An exclusive holder waits for all others, which may be other servers."""
        with ExitStack() as stack:
            while True:
                try:
                    stack.enter_context(self._store.hold(key, is_shared=is_shared))
                    break
                except BlockingIOError:
                    await trio.sleep(POLL_S)
            yield

    async def _agree(self, wanted: Wanted, caller: Caller) -> None:
        """Ask the user to approve fetching packages, unless the settings allow it.

        Raises:
            PackagesError: it was not approved.
        """
        row = BY_NAME[wanted.ecosystem]
        if row.name in self._settings.allow:
            return
        _, _, network = self._reach(row)
        question = (
            f"Fetch packages of {row.title} ({wanted.label}) from {network.describe()}?"
            f"{f' {PINNED}' if row.pinned_here else ''}"
        )
        verdict = {"decision": "ask", "message": question, "question": question, "matches": []}
        settled = await caller.settle(verdict)
        if not settled.get("consent"):
            said = "no user could be asked" if settled.get("consent") is None else "it was declined"
            raise PackagesError(
                f"packages of {row.title} need your approval to be fetched: {said}",
                f'To allow it, put allow = ["{row.name}"] under [packages] in your configuration.',
            )

    def _reach(self, row: Ecosystem) -> Reach:
        try:
            return reach_of(row, self._registry(row))
        except ValueError as error:
            raise PackagesError(f"packages.{row.name}: {error}") from error

    def _registry(self, row: Ecosystem) -> Registry:
        return self._settings.registries.get(row.name, Registry())

    async def _make_lock(self, wanted: Wanted, toolchain: ProvenToolchain) -> dict[str, bytes]:
        from executor.packages.phases import read_files  # noqa: PLC0415 - what is kept needs none

        row = BY_NAME[wanted.ecosystem]
        phase = self._online("lock", row, {"wanted": f"{wanted.text}\n".encode()})
        async with self.phases.run(phase, toolchain[0]) as bundle:
            files = await _write(partial(read_files, bundle, LOCK_BYTES_MAX))
        if row.lock_name not in files:
            raise PackagesError(f"packages of {row.title} were not locked: no {row.lock_name}")
        return files

    async def _make_layer(
        self, key: str, wanted: Wanted, files: Mapping[str, bytes], toolchain: ProvenToolchain
    ) -> None:
        from executor.packages.phases import Phase, unpack_bundle  # noqa: PLC0415 - as above

        row, limit = BY_NAME[wanted.ecosystem], self.phases.limits.artifact_bytes
        about = {"ecosystem": row.name, "packages": wanted.label}
        place = await _write(partial(self._store.begin, key))
        try:
            phase = self._online("fetch", row, files)
            async with self.phases.run(phase, toolchain[0]) as bundle:
                await _write(partial(unpack_bundle, bundle, place / TREE, limit))
            if row.build:
                shown = ((str(place / TREE), row.at),)
                building = Phase("build", row, row.build, files, shown=shown)
                async with self.phases.run(building, toolchain[0]) as bundle:
                    await _write(partial(unpack_bundle, bundle, place / TREE, limit))
            for path, _ in row.shown:
                _refuse_unless_folder(place / TREE / path)
            await _write(partial(self._store.put, key, place, about))
        finally:
            with trio.CancelScope(shield=True):
                await trio.to_thread.run_sync(remove, place)

    def _online(self, name: str, row: Ecosystem, inputs: Mapping[str, bytes]) -> Phase:
        """Make a phase that reaches the row's registries."""
        from executor.packages.phases import Phase  # noqa: PLC0415 - as above

        url, hosts, network = self._reach(row)
        cutoff = ""
        if row.cooldown and name == "lock" and self._settings.cooldown_days:
            before = datetime.timedelta(days=self._settings.cooldown_days)
            cutoff = (datetime.datetime.now(datetime.UTC) - before).strftime("%Y-%m-%dT%H:%M:%SZ")
        env = {"REGISTRY": url, "HOSTS": " ".join(hosts), "CUTOFF": cutoff}
        program = row.lock if name == "lock" else row.fetch
        return Phase(name, row, program, inputs, network, self._registry(row).ca, env)

    def _show(
        self, row: Ecosystem, key: str, lock: Mapping[str, bytes], *, was_kept: bool
    ) -> Layer:
        tree = self._store.tree(key)
        shown = ((str(tree), row.at), *((str(tree / path), at) for path, at in row.shown))
        return Layer(key, shown, row.env, row.paths, row.arguments, lock, was_kept)

    def _lock_key(self, wanted: Wanted, toolchain: ProvenToolchain) -> str:
        row = BY_NAME[wanted.ecosystem]
        where = [self._registry(row).url, self._settings.cooldown_days if row.cooldown else 0]
        return _digest(self._identity(row, toolchain), where, wanted.text)

    def _identity(self, row: Ecosystem, toolchain: ProvenToolchain) -> list[object]:
        """Return the inputs of a layer: the toolchain, its ABI, and the platform or image."""
        candidate, version = toolchain
        image = self._runner.placement.image(candidate.language.name)
        return [
            *(KEY_VERSION, row.name, row.version),
            *(candidate.toolchain.name, version),
            *(platform.machine(), image or _libc()),
        ]


async def _write(change: Callable[[], T]) -> T:
    """Write to the disk in a thread.

    Raises:
        PackagesError: the disk is full, or writing is not permitted.
    """
    try:
        return await trio.to_thread.run_sync(change)
    except OSError as error:
        place = f" in {error.filename}" if error.filename else ""
        raise PackagesError(
            f"packages cannot be stored{place}: {error.strerror}",
            "Free some space there, or check its owner and mode.",
        ) from error


def _refuse_unless_folder(path: Path) -> None:
    """Refuse a layer whose place in boxes would show anything but its own folder.

    Raises:
        PackagesError: it has no folder there.
    """
    if not path.is_dir() or path.is_symlink():
        raise PackagesError(f"packages were not stored: {path.name} is not one of their folders")


def _hide_password(url: str) -> str:
    return re.sub(r"//[^/@]*@", "//", url)[:120]


def _word_locking(row: Ecosystem) -> str:
    head = f"locking packages of {row.title}"
    return f"{head}. {PINNED}" if row.pinned_here else head


def _libc() -> str:
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (OSError, ValueError):
        return ""  # of another kind than GNU's


def _digests(files: Mapping[str, bytes]) -> list[tuple[str, str]]:
    return [(name, hashlib.sha256(content).hexdigest()) for name, content in sorted(files.items())]


def _digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]
