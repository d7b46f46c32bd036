"""A program ready to be placed in a box."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from executor.engine.orders import RunSpec
from executor.model import Limits
from executor.profile import ANALYZE, Profile
from runtimes import PrewarmPlan, Step


@dataclass(frozen=True, slots=True)
class Job:
    """A program ready to be placed: all that the sandbox needs to know of it."""

    steps: tuple[Step, ...]
    cwd: str
    env: Mapping[str, str]
    limits: Limits
    files: Mapping[str, bytes] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    binds: tuple[str, ...] = ()
    stdin: bytes | None = None
    drain: bool = False  # beyond its limit, output is counted and discarded
    artifacts: tuple[str, ...] = ()
    # A folder of the scratch, of which these entries, or all, are handed back as one bundle.
    packed: tuple[str, tuple[str, ...]] | None = None
    profile: Profile = ANALYZE
    label: str = ""  # what it is called while it runs
    language: str = ""  # by the name of its row
    substitute: str | None = None  # a folder of `temporary` that is shown in the project's place
    shown: tuple[tuple[str, str], ...] = ()  # (path on the host, path in the cell), read-only
    prewarm: PrewarmPlan | None = None  # how its interpreter is started before its text is known
    may_be_prewarmed: bool = True  # whether it may run where something has waited for it
    diagnosis: bytes = b""  # what an earlier compilation said, repeated on stderr
    whole: Limits | None = None  # before compiling had its share of `limits`

    def spec(self, *, without_cgroup: bool) -> RunSpec:
        """The same for the spawner."""
        return RunSpec(
            self.steps,
            self.env,
            self.cwd,
            self.limits,
            self.files,
            self.links,
            self.artifacts,
            self.packed,
            without_cgroup,
        )
