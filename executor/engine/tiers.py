"""The tiers of isolation, by their capabilities. No other place decides by a tier's letter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The capabilities of a tier's boxes.

    `floors` are the floors of profiles that the tier satisfies. With `namespaces` the spawner puts
    each cell into its own namespaces, whose processes die with the first of them. `back_end` is the
    value of the setting `isolation` that selects the tier's back end.
    """

    back_end: str
    floors: tuple[str, ...]
    namespaces: bool
    own_file_system: bool  # no folder of the host is written to while a run lasts
    copy_on_write: bool  # the spawner mounts an overlay, renews it, and lists what changed in it
    live_project: bool  # the project can be bound as it is
    network_by_allowlist: bool
    prewarm: bool
    keeps_products: bool  # compiled programs and toolchains' caches are stored, and shown to runs
    shows_packages: bool  # packages are fetched in its boxes, and layers of them bound into others
    sees_exits: bool  # the kernel reports a program's exit to the supervisor before tearing it down


STRONGEST: Final = "A"
TIERS: Final[Mapping[str, Capabilities]] = MappingProxyType(
    {
        # Cells of the spawner, with namespaces.
        "A": Capabilities(
            back_end="cell",
            floors=("A", "B"),
            namespaces=True,
            own_file_system=True,
            copy_on_write=True,
            live_project=True,
            network_by_allowlist=True,
            prewarm=True,
            keeps_products=True,
            shows_packages=True,
            sees_exits=True,
        ),
        # Cells of the spawner without: Landlock, seccomp and rlimits.
        "B": Capabilities(
            back_end="cell",
            floors=("B",),
            namespaces=False,
            own_file_system=False,
            copy_on_write=False,
            live_project=False,
            network_by_allowlist=False,
            prewarm=False,
            keeps_products=False,
            shows_packages=False,
            sees_exits=False,
        ),
        # Containers of an engine.
        "C": Capabilities(
            back_end="container",
            floors=("B",),
            namespaces=False,
            own_file_system=True,
            copy_on_write=False,
            live_project=False,
            network_by_allowlist=True,
            prewarm=True,
            keeps_products=False,
            shows_packages=True,
            sees_exits=False,
        ),
    }
)
# What a profile may name as its floor, the strongest first.
FLOORS: Final = TIERS[STRONGEST].floors
# Where packages can be had, for a reader.
PACKAGED: Final = f"tier {' or '.join(tier for tier, can in TIERS.items() if can.shows_packages)}"


TIERS_OF: Final = {
    name: tuple(tier for tier, can in TIERS.items() if can.back_end == name)
    for name in ("cell", "container")
}
"""The tiers of each back end, the stronger first."""
