"""What comes back from a supervisor is of the agreed shape, or an error says where it is not."""

from __future__ import annotations

import json

import pytest

from executor.containers.agent.messages import FromAgent
from executor.engine.orders import check_message, read_message
from executor.model import SandboxError
from executor.spawner.messages import FromSupervisor

EXIT = {
    "phase": "run",
    "exit_code": 0,
    "signal": None,
    "reason": None,
    "cpu_s": 1,
    "peak_memory_bytes": 0,
    "peak_processes": 1,
    "scratch_full": False,
    "changed": [["a", "created", 3], ["b/", "deleted", None]],
    "changed_omitted": 0,
}


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"pid": 12},
        {"ready": {"landlock": 7, "copy_on_write": "no overlay", "room": ""}},
        {"exit": EXIT, "upper": True},
        {"exit": EXIT | {"leaves_open": True}},
        {"artifacts": [["a", 1]], "skipped": [["b", "too large"]]},
        {"run": 1, "end": {"phase": "run", "exit_code": None, "signal": 9}},
        {"begun": {"1": "/project"}},
    ],
    ids=json.dumps,
)
def test_what_a_supervisor_says_is_read(said):
    assert read_message(json.dumps(said).encode(), FromSupervisor) == said


@pytest.mark.parametrize(
    ("said", "place"),
    [
        ([], "Expected `object`"),
        ("exit", "Expected `object`"),
        ({"exit": "0"}, "exit"),
        ({"exit": {}}, "exit"),
        ({"exit": EXIT | {"exit_code": "0"}}, "exit.exit_code"),
        ({"exit": EXIT | {"exit_code": True}}, "exit.exit_code"),
        ({"exit": EXIT | {"changed": [["a", "created"]]}}, "exit.changed"),
        ({"exit": EXIT | {"changed": {"a": 1}}}, "exit.changed"),
        ({"exit": EXIT | {"unknown": 1}}, "exit.unknown"),
        ({"artifacts": [["a", "1"]], "skipped": []}, "artifacts"),
        ({"artifacts": [[None, 1]], "skipped": []}, "artifacts"),
        ({"ready": {"landlock": None}}, "ready.landlock"),
        ({"upper": 1}, "upper"),
        ({"surprise": 1}, "surprise"),
        ({"begun": {"1": 2}}, "begun"),
    ],
    ids=str,
)
def test_what_is_of_another_shape_is_told_by_its_place(said, place):
    with pytest.raises(SandboxError, match="malformed") as told:
        read_message(json.dumps(said).encode(), FromSupervisor)
    assert place in str(told.value)


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"[" * 100_000], ids=["", "{", "ff", "deep"])
def test_what_is_no_message_is_told(data):
    with pytest.raises(SandboxError, match="invalid message"):
        read_message(data, FromSupervisor)


def test_each_shape_has_its_own_fields():
    answer = {"staged": {"/a": "/b"}, "refused": {}, "uid": 1, "gid": 1}
    assert check_message(answer, FromSupervisor) == answer
    hello = {"protocol": 1, "landlock": 0, "pid": 1, "uid": 0, "exposed": []}
    with pytest.raises(SandboxError, match="hello"):
        check_message({"hello": hello}, FromSupervisor)
    assert check_message({"hello": hello}, FromAgent) == {"hello": hello}
