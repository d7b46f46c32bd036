"""What a recipe is: a function from a call's arguments to effects."""

from __future__ import annotations

from collections.abc import Callable

Recipe = Callable[..., None]  # (screening, words of the recipe, name called, call node, arguments)
