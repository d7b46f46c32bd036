"""Every attack, in the order of its number."""

from tests.escapes import files, kernel, network, processes, protocol, resources
from tests.escapes.attack import Attack

ATTACKS: tuple[Attack, ...] = tuple(
    sorted((attack for theme in (files, kernel, network, processes, protocol, resources) for attack in theme.ATTACKS), key=lambda row: row.id)
)
