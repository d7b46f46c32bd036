"""What a user sets of packages, what a run wants of them, and what comes of that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from executor.model import GIB


@dataclass(frozen=True, slots=True)
class Registry:
    """Where an ecosystem's packages come from, as its user says; what is empty is the row's own.

    `private` lets its names lie on addresses of a private network, or on this machine. `ca` is the
    text of certificates to trust besides the system's.
    """

    url: str = ""
    hosts: tuple[str, ...] = ()
    private: bool = False
    ca: str = ""


@dataclass(frozen=True, slots=True)
class PackageSettings:
    """What a user can set. `allow` are the ecosystems that may fetch without asking a person.

    `bytes_max` is what all layers take together, `layer_bytes` what one may.
    """

    allow: frozenset[str] = frozenset()
    cooldown_days: int = 3
    bytes_max: int = 4 * GIB
    layer_bytes: int = 2 * GIB
    registries: Mapping[str, Registry] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The packages that a request names: a text for the lock to be made of, or a lock's files.

    `file` is what the text was read from, `indexes` the registries that it names.
    """

    ecosystem: str
    text: str = ""
    lock: Mapping[str, bytes] = field(default_factory=dict)
    file: str = ""
    indexes: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The same for a reader, in a line."""
        words = ", ".join(self.lock) or ", ".join(self.text.split("\n"))
        return words if len(words) <= 120 else self.file or f"{words[:119]}…"


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer of packages as a cell is to see it."""

    key: str
    folder: str  # on this host
    shown: tuple[tuple[str, str], ...]  # (path on the host, path in the cell)
    env: Mapping[str, str]
    paths: Mapping[str, str]  # executables in place of the toolchain's, by role
    arguments: tuple[str, ...]  # what the toolchain's templates have at `{packages}`
    lock: Mapping[str, bytes]
    was_kept: bool  # it was there before the request


@dataclass(frozen=True, slots=True)
class LayerInfo:
    """What is known of a kept layer."""

    key: str
    ecosystem: str
    packages: str
    bytes: int
    entries: int
    made_at: float
    used_at: float
