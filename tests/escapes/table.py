"""Every attack, in the order of its number."""

from dataclasses import replace

from tests.escapes import (
    artifacts,
    commits,
    counters,
    deletions,
    files,
    gvisor,
    inherited,
    kernel,
    leading_out,
    meanwhile,
    metadata,
    network,
    obeyed,
    processes,
    protected,
    protocol,
    repositories,
    resources,
    secrets,
    sessions,
    shared,
    silence,
    space,
    special,
    spelling,
    streams,
)
from tests.escapes.attack import Attack
from tests.escapes.matrix import order

THEMES = (
    artifacts,
    commits,
    counters,
    deletions,
    files,
    inherited,
    kernel,
    leading_out,
    meanwhile,
    metadata,
    network,
    obeyed,
    processes,
    protected,
    protocol,
    repositories,
    resources,
    secrets,
    sessions,
    shared,
    silence,
    space,
    special,
    spelling,
    streams,
)
ATTACKS: tuple[Attack, ...] = tuple(
    replace(row, gvisor=gvisor.expected(row))
    for row in sorted(
        (row for theme in THEMES for row in theme.ATTACKS), key=lambda row: order(row.id)
    )
)
