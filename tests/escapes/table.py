"""Every attack, in the order of its number."""

from tests.escapes import files, kernel, network, processes, protocol, resources
from tests.escapes.attack import Attack
from tests.escapes.matrix import order

THEMES = (files, kernel, network, processes, protocol, resources)
ATTACKS: tuple[Attack, ...] = tuple(
    sorted((row for theme in THEMES for row in theme.ATTACKS), key=lambda row: order(row.id))
)
