"""From a checked request to a call of a session: its program, and the session's packages."""

from __future__ import annotations

from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING

import runtimes
from executor.engine.box import Job, Layout
from executor.request import Checked
from executor.run.execution import grant_environment, job_of, label, make_job
from executor.sessions.turn import InterpreterProgram

if TYPE_CHECKING:
    pass
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from executor.model import Limits
from executor.profile import Profile

if TYPE_CHECKING:
    pass
from contextlib import AsyncExitStack
from dataclasses import replace

from executor.errors import PackagesError
from executor.packages.layers import Packages
from executor.packages.model import Layer, Wanted
from executor.packages.running import BROKEN, equip
from executor.request import Caller
from executor.toolchains.catalog import ProvenToolchain
from runtimes.packages import BY_NAME

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


@dataclass(frozen=True, slots=True)
class SessionRequest:
    """One program for a session, as it was asked for."""

    interpreter: str  # the name of what runs it
    candidate: runtimes.Candidate
    # Starts the program, or its interpreter, by the candidate.
    make_job: Callable[[runtimes.Candidate, Layout], Job]
    # Makes what is sent there, out of the layout and the number of the call.
    program: Callable[[Layout, int], InterpreterProgram] | None
    limits: Limits
    profile: Profile
    env: Mapping[str, str] = field(default_factory=dict)
    artifacts: tuple[str, ...] = ()
    cwd: str = "/"
    label: str = ""
    limits_given: bool = False
    language: str = ""  # by the name of its row
    packages: SessionPackages | None = None  # those that the call names


def session_call(
    checked: Checked, candidate: runtimes.Candidate, packages: SessionPackages | None = None
) -> SessionRequest:
    """A program for a session: for an interpreter that lives on, where the language has one."""
    request = checked.request
    driver = runtimes.driver(candidate, interactive=request.interactive)
    name = candidate.toolchain.name
    return SessionRequest(
        interpreter=f"{name}, interactive" if request.interactive else name,
        make_job=partial(_interpreter if driver else make_job, checked),
        candidate=candidate,
        program=partial(_program, checked, driver) if driver else None,
        limits=checked.limits,
        profile=checked.profile,
        env=request.env,
        artifacts=request.artifacts,
        cwd=checked.cwd,
        label=label(checked),
        limits_given=request.limits is not None,
        language=checked.language.name,
        packages=packages,
    )


def _interpreter(checked: Checked, candidate: runtimes.Candidate, layout: Layout) -> Job:
    candidate = layout.place(candidate)
    program = runtimes.driver_program(
        candidate,
        job_dir=layout.job,
        scratch_dir=layout.scratch,
        cwd=layout.inside(checked.cwd),
        interactive=checked.request.interactive,
    )
    return job_of(
        program,
        candidate,
        layout,
        cwd=layout.inside(checked.cwd),
        limits=checked.limits,
        env=grant_environment(checked.profile) | dict(checked.request.env),
        profile=checked.profile,
    )


def _program(
    checked: Checked, driver: runtimes.Driver, layout: Layout, number: int
) -> InterpreterProgram:
    source = PurePath(checked.language.source_name)
    name = f"{layout.job}/{source.stem}-{number}{source.suffix}"
    return InterpreterProgram(
        code=driver.rewrite(checked.text),
        name=layout.inside(checked.script) if checked.script else name,
        folder=layout.inside(checked.cwd) if checked.request.cwd is not None else "",
        bound=layout.inside(checked.bind_file) if checked.bind_file else "",
        args=checked.request.args,
    )
