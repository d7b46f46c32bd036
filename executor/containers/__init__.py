"""Tier C: programs in containers, made and kept ready by a Docker engine, here or elsewhere."""

from executor.containers.opening import Ground, Opened, opened
from executor.pool.containers import NONE_PREWARMED, PREWARMED

__all__ = ["NONE_PREWARMED", "PREWARMED", "Ground", "Opened", "opened"]
