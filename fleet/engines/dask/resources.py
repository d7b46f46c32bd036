"""What a worker has, and an order needs, as Dask counts it: one of each for each order."""

from __future__ import annotations

from collections.abc import Iterable


def resources_of(properties: Iterable[tuple[str, str]], count: int = 1) -> dict[str, float]:
    """A place for `count` orders, and that often each property.

    Dask gives an order to a worker that has all of them left, so they run out together.
    """
    return {"run": float(count)} | {f"{key}={value}": float(count) for key, value in properties}
