"""The packages of one session: had with its first call, held and shown until the session ends."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import replace

import runtimes
from executor.caller import Caller
from executor.errors import PackagesError
from executor.packages.layers import Packages
from executor.packages.model import Layer, Wanted
from executor.packages.running import BROKEN, equip
from executor.toolchains.catalog import ProvenToolchain
from runtimes.packages.registry import BY_NAME

AGAIN = "begin the session again with its packages: they are fetched anew"


class SessionPackages:
    """What a call names as packages; of a session's first call, the layer that they became.

    `packages` gives the server's, loaded only where a layer is to be had.
    """

    def __init__(
        self,
        packages: Callable[[], Packages],
        wanted: Wanted,
        toolchain: ProvenToolchain,
        caller: Caller,
    ) -> None:
        self.wanted = wanted
        self._packages = packages
        self._toolchain = toolchain
        self._caller = caller
        self._layer: Layer | None = None
        self._is_sound = True
        self._calls = 0

    @property
    def shown(self) -> tuple[tuple[str, str], ...]:
        """What the session's box is shown of the layer: paths on the host, and in the box."""
        return self._layer.shown if self._layer else ()

    @property
    def word(self) -> str:
        """How a result names where they are from: "now" fetched for this call, or "kept"."""
        is_new = self._layer is not None and not self._layer.was_kept
        return "now" if is_new and self._calls == 1 else "kept"

    async def have(self, stack: AsyncExitStack) -> None:
        """Have the layer, if it is not had yet; it is held until the stack is closed.

        Raises:
            PackagesError: it can't be had, or nobody agreed to have it fetched.
        """
        if self._layer is not None:
            return
        layer = self._packages().layer(self.wanted, self._toolchain, self._caller)
        self._layer = await stack.enter_async_context(layer)

    async def verify(self, *, in_full: bool) -> None:
        """Compare the layer with its seal, before a call.

        Raises:
            PackagesError: it was changed since it was fetched.
        """
        assert self._layer is not None
        self._calls += 1
        if self.word == "now":
            return
        self._is_sound = await self._packages().is_sound(self._layer, in_full=in_full)
        if not self._is_sound:
            raise PackagesError(BROKEN, AGAIN)

    async def drop_broken(self) -> None:
        """Remove a layer that is not as it was sealed, once the session holds it no more."""
        if self._layer is not None and not self._is_sound:
            await self._packages().drop(self._layer)

    def equip(self, candidate: runtimes.Candidate) -> runtimes.Candidate:
        """The candidate with the layer's variables, so that a shell's programs find it, too.

        Executables of the layer replace those of its own languages alone.
        """
        layer = self._layer
        if layer is None:
            return candidate
        is_own = candidate.language.name in BY_NAME[self.wanted.ecosystem].languages
        return equip(candidate, layer if is_own else replace(layer, paths={}, arguments=()))
