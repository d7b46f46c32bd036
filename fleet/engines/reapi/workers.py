"""Which workers an action was with, by what the server says of it while it lasts."""

from __future__ import annotations

from buildgrid.common.protos.build.bazel.remote.execution.v2 import remote_execution_pb2 as rex
from buildgrid.common.protos.google.longrunning import operations_pb2

_STAGE = rex.ExecutionStage


def is_queued(said: operations_pb2.Operation) -> bool:
    """Whether an action waits for a worker, by the server's word."""
    metadata = rex.ExecuteOperationMetadata()
    return bool(said.metadata.Unpack(metadata)) and metadata.stage == _STAGE.QUEUED


class Workers:
    """Counts the workers that an action lost: it was executed, and is queued again.

    A server that tells of no stages, or misses some, makes them fewer and never more.
    """

    def __init__(self) -> None:
        self.lost = 0
        self._was_with_one = False

    def note(self, said: operations_pb2.Operation) -> int:
        """Take what the server says; how many were lost by now."""
        told = rex.ExecuteOperationMetadata()
        if not said.metadata.Unpack(told):
            return self.lost
        if told.stage == _STAGE.EXECUTING:
            self._was_with_one = True
        elif told.stage == _STAGE.QUEUED and self._was_with_one:
            self.lost += 1
            self._was_with_one = False
        return self.lost
