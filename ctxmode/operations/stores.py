"""Opening of stores, which redact secrets and apply their quota.

Each search loads this module, so it contains nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import kb
from ctxmode.config.locations import Config

if TYPE_CHECKING:
    from base.secrets import Secret


def open_store(config: Config, path: Path | None = None) -> kb.Store:
    """Open the project's store, or another one next to it."""
    found = path or config.database
    return kb.Store.open(found, redact=_find_secrets, quota=partial(_read_quota, config))


def _read_quota(config: Config) -> int:
    from ctxmode.operations.quotas import load_quotas  # noqa: PLC0415 - only writers need it

    return load_quotas(config)[0]


def _find_secrets(data: bytes) -> Sequence[Secret]:
    from base.secrets import find_secrets  # noqa: PLC0415 - only writers need it

    return find_secrets(data)
