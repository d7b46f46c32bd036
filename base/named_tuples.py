"""`NamedTuple` like `typing`'s, without loading `typing`.

Loading that takes a hook 5 ms, and compiling the annotations of its classes as much again. A type
checker sees the one of `typing`.
"""

from __future__ import annotations

from collections import namedtuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple
else:

    class _Type(type):
        """Turns a class with annotations into a named tuple with its defaults and methods."""

        def __new__(cls, name: str, _: tuple[type, ...], body: dict[str, object]) -> type:
            fields = tuple(body["__annotations__"])
            defaults = [body.pop(field) for field in fields if field in body]
            made = namedtuple(name, fields, defaults=defaults, module=body.pop("__module__"))
            for attribute, value in body.items():
                setattr(made, attribute, value)
            return made

    NamedTuple = type.__new__(_Type, "NamedTuple", (), {})

__all__ = ["NamedTuple"]
