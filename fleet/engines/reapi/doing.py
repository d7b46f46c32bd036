"""Doing an action of a Remote Execution server: an order is read, done and handed back."""

from __future__ import annotations

import logging
import math
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import trio
from buildgrid.common.protos.build.bazel.remote.execution.v2 import remote_execution_pb2 as rex
from buildgrid.common.protos.google.rpc import code_pb2
from google.protobuf.message import DecodeError
from google.protobuf.timestamp_pb2 import Timestamp

from fleet.blob_cache import BlobCache
from fleet.doer import ORDER_FILE, Doer
from fleet.engines.handing_in import HandedIn, hand_in
from fleet.engines.reapi.blobs import RemoteBlobs
from fleet.engines.reapi.messages import from_wire, order_in, to_wire
from fleet.errors import BlobError, UnreachableError
from fleet.seal import SEALED_BYTES_MAX, SealError
from fleet.tree import Digest, Entry, Folder, TreeError, build

_COMMAND: Final = ("context-mode", "worker", "--once", ORDER_FILE)
_MESSAGE_BYTES_MAX: Final = 1 << 20  # of a command, and of the folder that an order lies in

log = logging.getLogger(__name__)


class UndoneError(Exception):
    """An action has no result; `code` is the protocol's."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(slots=True)
class _Times:
    """When the parts of an action began and ended, in nanoseconds since 1970; 0 if they did not."""

    began: int = field(default_factory=time.time_ns)
    fetching: int = 0
    fetched: int = 0
    ran: int = 0
    ended: int = 0

    def told(self, worker: str) -> rex.ExecutedActionMetadata:
        """What a server keeps of them. The worker alone knows when the project was complete."""
        at = time.time_ns()
        return rex.ExecutedActionMetadata(
            worker=worker,
            worker_start_timestamp=_stamp(self.began),
            input_fetch_start_timestamp=_stamp(self.fetching),
            input_fetch_completed_timestamp=_stamp(self.fetched),
            execution_start_timestamp=_stamp(self.fetched),
            execution_completed_timestamp=_stamp(self.ran),
            output_upload_start_timestamp=_stamp(self.ran),
            output_upload_completed_timestamp=_stamp(self.ended or at),
            worker_completed_timestamp=_stamp(self.ended or at),
        )


class Actions:
    """Does actions whose command is a worker's, and none else."""

    def __init__(self, blobs: RemoteBlobs, doer: Doer, worker: str, folder: Path | None) -> None:
        """Do them as `worker`; what is handed back lies below `folder` meanwhile."""
        self._blobs = blobs
        self._doer = doer
        self._worker = worker
        self._folder = folder

    async def do(self, payload: Any) -> rex.ActionResult:  # noqa: ANN401 - protobuf's Any
        """Do the action of a lease within its time.

        Raises:
            UndoneError: it has no result; the code says whether another worker is to be asked.
        """
        action = rex.Action()
        try:
            if not payload.Unpack(action):
                raise UndoneError(code_pb2.INVALID_ARGUMENT, f"no action: {payload.type_url!r}")
            timeout_s = action.timeout.ToNanoseconds() / 1e9 or math.inf
            with trio.move_on_after(max(timeout_s, 0)):
                return await self._do(action)
        except UndoneError:
            raise
        except SealError as error:
            raise UndoneError(code_pb2.PERMISSION_DENIED, f"{error.reason}: {error}") from None
        except (BlobError, TreeError, DecodeError) as error:
            raise UndoneError(code_pb2.FAILED_PRECONDITION, str(error)) from None
        except UnreachableError as error:
            raise UndoneError(code_pb2.UNAVAILABLE, str(error)) from None
        except OSError as error:
            return self._fail(str(error))
        except Exception as error:
            log.exception("a worker failed")
            return self._fail(f"{type(error).__name__}: {error}")
        raise UndoneError(code_pb2.DEADLINE_EXCEEDED, f"it took over {timeout_s:.0f} s")

    def _fail(self, why: str) -> rex.ActionResult:
        """What tells the front why, as the program `worker --once` would: it asks another worker,
        so often as it bears."""
        result = rex.ActionResult(exit_code=1, stderr_raw=why.encode(errors="replace"))
        result.execution_metadata.worker = self._worker
        return result

    async def _do(self, action: rex.Action) -> rex.ActionResult:
        times = _Times()
        asked = [from_wire(one) for one in (action.command_digest, action.input_root_digest)]
        named = order_in(action)
        asked += [named] if named is not None else []
        for digest in asked:
            _check_size(digest, _MESSAGE_BYTES_MAX)
        said, folder, *came = await self._blobs.get_small(*asked)
        command, root = rex.Command.FromString(said), Folder.decode(folder)
        if tuple(command.arguments) != _COMMAND:
            raise UndoneError(
                code_pb2.PERMISSION_DENIED, f"this worker runs {' '.join(_COMMAND)} and no other"
            )
        order = next((one.digest for one in root.files if one.name == ORDER_FILE), None)
        if order is None:
            raise UndoneError(code_pb2.INVALID_ARGUMENT, f"no file {ORDER_FILE} in its root")
        _check_size(order, SEALED_BYTES_MAX)
        sealed = came[0] if order == named else await self._get(order)
        times.fetching = times.fetched = time.time_ns()

        async def fetch(digests: frozenset[Digest], cache: BlobCache) -> None:
            await self._blobs.fetch(digests, cache)
            times.fetched = time.time_ns()

        with tempfile.TemporaryDirectory(prefix="out-", dir=self._folder) as name:
            await self._doer.do(sealed, fetch, Path(name))
            times.ran = time.time_ns()
            handed = await hand_in(Path(name), self._blobs, keeps_small=True)
            result = await self._result(handed)
        times.ended = time.time_ns()
        result.execution_metadata.CopyFrom(times.told(self._worker))
        return result

    async def _get(self, order: Digest) -> bytes:
        sealed = bytearray()
        await self._blobs.get(order, sealed.extend)
        return bytes(sealed)

    async def _result(self, handed: HandedIn) -> rex.ActionResult:
        """What was handed back, in the server's form; the trees of folders are kept by it, too."""
        result = rex.ActionResult()
        folders: dict[str, list[Entry]] = {}
        for path, digest in handed.files.items():
            top, _, inner = path.partition("/")
            if inner:
                folders.setdefault(top, []).append(Entry(inner, digest))
            else:
                content = handed.contents.get(path, b"")
                result.output_files.add(path=path, digest=to_wire(digest), contents=content)
        for path, entries in folders.items():
            tree = build(entries)
            message = rex.Tree(root=rex.Directory.FromString(tree.folders[tree.root]))
            for digest, data in tree.folders.items():
                if digest != tree.root:
                    message.children.append(rex.Directory.FromString(data))
            digest = await self._blobs.put_bytes(message.SerializeToString())
            result.output_directories.add(path=path, tree_digest=to_wire(digest))
        return result


def _check_size(digest: Digest, bytes_max: int) -> None:
    if digest.size_bytes > bytes_max:
        raise UndoneError(code_pb2.INVALID_ARGUMENT, f"{digest} is over {bytes_max:,} bytes")


def _stamp(ns: int) -> Timestamp | None:
    if not ns:
        return None
    stamp = Timestamp()
    stamp.FromNanoseconds(ns)
    return stamp
