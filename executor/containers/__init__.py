"""Tier C: programs in containers, made and kept ready by a Docker engine, here or elsewhere."""

from executor.containers.opening import Ground, Opened, opened
from executor.pool.containers import PoolLimits

__all__ = ["Ground", "Opened", "PoolLimits", "opened"]
