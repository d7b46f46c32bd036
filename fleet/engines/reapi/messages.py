"""What is said in the Remote Execution API: digests, actions, and what came of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from buildgrid.common.protos.build.bazel.remote.execution.v2 import remote_execution_pb2 as rex
from buildgrid.common.protos.google.rpc import code_pb2

from fleet.dispatcher import Placement
from fleet.engines.handed_back import plain_name
from fleet.engines.handing_in import SMALL_BYTES
from fleet.errors import OutcomeError
from fleet.model import Cause
from fleet.tree import Digest, TreeError, digest_of

METADATA_KEY: Final = "build.bazel.remote.execution.v2.requestmetadata-bin"
DEPTH_MAX: Final = 32
FILES_MAX: Final = 200_000
_SALT_WORDS: Final = 3

_CAUSES: Final[dict[int, Cause]] = {
    code_pb2.CANCELLED: Cause.CANCELLED,
    code_pb2.FAILED_PRECONDITION: Cause.BLOB,
    code_pb2.NOT_FOUND: Cause.BLOB,
    code_pb2.UNAVAILABLE: Cause.ENGINE,
    code_pb2.RESOURCE_EXHAUSTED: Cause.ENGINE,
}


def to_wire(digest: Digest) -> rex.Digest:
    """A digest in the server's form."""
    return rex.Digest(hash=digest.hash, size_bytes=digest.size_bytes)


def from_wire(digest: rex.Digest) -> Digest:
    """A digest that a server sent.

    Raises:
        TreeError: it is none.
    """
    return Digest(digest.hash, digest.size_bytes)


def command_of(placement: Placement) -> bytes:
    """The `Command` of a placement: the same bytes for equal ones."""
    command = rex.Command(
        arguments=placement.command,
        output_paths=sorted(placement.outputs),
        platform=_platform(placement),
    )
    return bytes(command.SerializeToString(deterministic=True))


def action_of(placement: Placement, command: Digest) -> bytes:
    """The `Action` of a placement. Its digest is the run's key, for its salt is no other run's.

    The salt names a small order, too, so that a worker asks for it with the rest: that saves it an
    answer of the server.
    """
    action = rex.Action(
        command_digest=to_wire(command),
        input_root_digest=to_wire(placement.root),
        platform=_platform(placement),
        salt=_salt(placement),
    )
    action.timeout.FromMilliseconds(round(placement.timeout_s * 1000))
    return bytes(action.SerializeToString(deterministic=True))


def order_in(action: rex.Action) -> Digest | None:
    """The order that an action's salt names, if it does; its folder says whether that is so."""
    words = action.salt.decode(errors="replace").split(" ")
    try:
        return Digest(words[1], int(words[2])) if len(words) == _SALT_WORDS else None
    except (TreeError, ValueError):
        return None


def _salt(placement: Placement) -> bytes:
    order = placement.order
    names = f" {order.hash} {order.size_bytes}" if order.size_bytes <= SMALL_BYTES else ""
    return f"{placement.run_id}{names}".encode()


def metadata_of(placement: Placement) -> tuple[tuple[str, bytes], ...]:
    """Who asks, by which a server shares its workers."""
    told = rex.RequestMetadata(
        tool_details=rex.ToolDetails(tool_name="context-mode"),
        action_id=placement.run_id,
        tool_invocation_id=placement.owner,
        correlated_invocations_id=placement.owner,
    )
    return ((METADATA_KEY, told.SerializeToString()),)


def cause_of(code: int) -> Cause:
    """What a status other than OK means: the worker's fault, unless it says otherwise."""
    return _CAUSES.get(code, Cause.WORKER)


def files_of(path: str, tree: rex.Tree) -> Iterator[tuple[str, Digest]]:
    """The files of a folder that was handed back, by path. Links are passed over.

    Raises:
        OutcomeError: a name leads elsewhere or stands twice, or it is too deep or too large.
    """
    by_digest = {digest_of(one.SerializeToString()).hash: one for one in tree.children}
    waiting, count = [(path, tree.root, 1)], 0
    while waiting:
        prefix, folder, depth = waiting.pop()
        names = [plain_name(one.name) for one in (*folder.files, *folder.directories)]
        count += len(names)
        if len(set(names)) < len(names):
            raise OutcomeError("a name stands twice in a folder")
        if depth > DEPTH_MAX or count > FILES_MAX:
            raise OutcomeError(f"over {DEPTH_MAX} folders deep, or {FILES_MAX} entries")
        for file in folder.files:
            yield f"{prefix}/{file.name}", _checked(file.digest)
        for inner in folder.directories:
            found = by_digest.get(inner.digest.hash)
            if found is None:
                raise OutcomeError("a folder is missing")
            waiting.append((f"{prefix}/{inner.name}", found, depth + 1))


def _checked(digest: rex.Digest) -> Digest:
    try:
        return from_wire(digest)
    except TreeError as error:
        raise OutcomeError(str(error)) from None


def _platform(placement: Placement) -> rex.Platform:
    # The protocol wants them sorted, so that equal platforms have equal digests.
    pairs = sorted(placement.properties)
    return rex.Platform(properties=[rex.Platform.Property(name=n, value=v) for n, v in pairs])
