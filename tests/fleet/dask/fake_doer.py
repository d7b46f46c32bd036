"""A worker that does what its orders say, which are no real ones; in a process of its own, too:

python -m tests.fleet.dask.fake_doer URL BLOBS_URL NAME AT_ONCE CA CERTIFICATE KEY
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import trio

from fleet.blob_cache import BlobCache
from fleet.cluster import Credentials, find_cluster
from fleet.dask.serving import Serving, serve
from fleet.seal import SealError
from fleet.tree import Digest
from fleet.worker import Fetch

OFFERS = ("context-mode=1", "tier=A", "language=python", "language=ruby")


def order_for(
    act: str, salt: str, *project: Digest, files: Mapping[str, str] | None = None
) -> bytes:
    """An order: what to do, which blobs to fetch before, and which files to hand back."""
    fetched = [[one.hash, one.size_bytes] for one in project]
    said = {"act": act, "salt": salt, "fetch": fetched, "files": dict(files or {})}
    return json.dumps(said).encode()


class FakeDoer:
    """Does `run`, `wait` for `go`, `die`, or finds the `seal` wrong; counts what it is given."""

    def __init__(self, folder: Path) -> None:
        self.cache = BlobCache(folder)
        self.go = trio.Event()
        self.began: list[str] = []
        self.ended: list[str] = []
        self.cancelled: list[str] = []
        self.under_way = 0
        self.most = 0

    async def do(self, sealed: bytes, fetch: Fetch, out: Path) -> None:
        order = json.loads(sealed)
        if order["act"] == "seal":
            raise SealError("changed", "the order differs from what it was sealed")
        self.began.append(order["salt"])
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await fetch(frozenset(Digest(*one) for one in order["fetch"]), self.cache)
            await self._act(order["act"])
        except trio.Cancelled:
            self.cancelled.append(order["salt"])
            raise
        finally:
            self.under_way -= 1
        for path, text in order["files"].items():
            (out / path).parent.mkdir(exist_ok=True, parents=True)
            (out / path).write_text(text)
        (out / "outcome.json").write_bytes(sealed)
        self.ended.append(order["salt"])

    async def _act(self, act: str) -> None:
        if act == "wait":
            await self.go.wait()
        elif act == "die":
            print("dying", flush=True)
            await trio.sleep_forever()
        elif act == "full":
            raise OSError(28, "No space left on device")
        elif act == "break":
            raise KeyError("a worker's own")
        elif act.startswith("sleep "):
            await trio.sleep(float(act.split()[1]))


async def _main(url: str, blobs_url: str, name: str, at_once: str, *files: str) -> None:
    credentials = Credentials(*map(Path, files)) if files else None
    with tempfile.TemporaryDirectory() as folder:
        how = Serving(name, int(at_once), OFFERS)
        await serve(find_cluster(url, credentials, blobs_url), FakeDoer(Path(folder)), how)


if __name__ == "__main__":
    trio.run(_main, *sys.argv[1:])
