"""Every attack, in the order of its number."""

from tests.escapes import kernel, processes, resources
from tests.escapes.attack import Attack

ATTACKS: tuple[Attack, ...] = tuple(
    sorted((attack for theme in (kernel, processes, resources) for attack in theme.ATTACKS), key=lambda row: row.id)
)
