"""A front for tests: it takes a snapshot of a project, and seals orders for it."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from executor.model import Limits, Request
from executor.project.view.search import ProjectSearch
from executor.request import PROFILES
from fleet import model
from fleet.blob_cache import BlobCache
from fleet.model import PROTOCOL, Order
from fleet.result_files import OUTCOME_FILE
from fleet.seal import seal_order
from fleet.snapshot import Snapshot, take
from fleet.tree import Digest
from fleet.upload_filter import Terms
from policy.model import Rules

KEY = Ed25519PrivateKey.from_private_bytes(bytes(32))
OTHER_KEY = Ed25519PrivateKey.from_private_bytes(bytes([1]) * 32)
WAIT_S = 600.0


def write_keys(file: Path, owners: str = '["alice", "ci"]') -> Path:
    """The list of a worker that serves the front with `KEY`."""
    public = base64.b64encode(KEY.public_key().public_bytes_raw()).decode()
    file.write_text(f'[fronts.office]\nkey = "{public}"\nowners = {owners}\n')
    file.chmod(0o600)
    return file


@dataclass
class TestFront:
    """Seals orders for one project as it is at that moment."""

    __test__ = False

    project: Path
    taken: Snapshot | None = None
    fetched: list[Digest] = field(default_factory=list)
    number: int = 0

    def order(self, code: str, language: str = "shell", **more: Any) -> Order:
        """An order of a program; `request` has what else is asked, other names are the order's."""
        self.taken = take(ProjectSearch(self.project), Terms(), {})
        self.number += 1
        asked = {"profile": more["profile"].name} if "profile" in more else {}
        request = Request(language, code, **(asked | more.pop("request", {})))
        given = {
            "run_id": f"run-{self.number:08}",
            "owner": "alice",
            "request": request,
            "root": self.taken.root,
            "rules": Rules(),
            "profile": PROFILES.get(request.profile),
            "limits": Limits(),
            "project": str(self.project),
            "not_after": time.time() + WAIT_S,
        }
        return Order(**(given | more))

    def seal(self, code: str, language: str = "shell", **more: Any) -> bytes:
        """A sealed order of a program; see `order`."""
        return sealed(self.order(code, language, **more))

    async def fetch(self, digests: frozenset[Digest], cache: BlobCache) -> None:
        """Bring blobs of the snapshot that was taken last."""
        assert self.taken is not None
        for digest in digests:
            self.fetched.append(digest)
            cache.add(digest, self.taken.read(digest))


def sealed(order: Order, key: Ed25519PrivateKey = KEY) -> bytes:
    """An order under the seal of a front."""
    return seal_order(model.encode(order), key, PROTOCOL)


def result_in(out: Path) -> Mapping[str, Any]:
    """The result of the outcome that was handed back."""
    result: dict[str, Any] = json.loads((out / OUTCOME_FILE).read_bytes())["result"]
    return result
