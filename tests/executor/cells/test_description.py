"""What the spawner is told: whole descriptions, read back with the spawner's own reader."""

from __future__ import annotations

import os
import resource
from dataclasses import replace

import pytest

from executor.cells.description import CellSpec, pack_cell
from executor.engine import box
from executor.engine.box import ROOM_BYTES, ROOM_INODES, Order
from executor.engine.orders import anonymous_file, pack_run
from executor.model import GIB, MIB, Limits
from executor.project.view.search import Guarded
from executor.request import ProjectAccess
from executor.spawner.messages import Description
from runtimes import Step

LIMITS = Limits(
    cpu_s=9.5,
    memory_bytes=64 * MIB,
    processes=40,
    file_bytes=MIB,
    scratch_bytes=2 * MIB,
    scratch_inodes=300,
    open_files=50,
)
CELL = CellSpec(
    namespaces=True,
    uid=1000,
    gid=1001,
    outer_uid=65432,
    outer_gid=65433,
    project="/srv/project",
    project_source="/tmp/0",
    access=ProjectAccess.COPY_ON_WRITE,
    seccomp=b"12345678",
    binds=(("/tmp/1", "/opt/ruby"),),
    limits=LIMITS,
    guarded=Guarded((".env",), ("dev.sock",)),
)
RUN = Order(
    steps=(Step(("/usr/bin/cc", "x.c"), "compile"), Step(("/tmp/x",), "run", heavy=True)),
    env={"A": "b"},
    cwd="/srv/project",
    limits=LIMITS,
    files={"/job/x.c": b"int main;", "/job/data": b"\0\xff"},
    links={"/job/lib": "/srv/project/lib"},
    artifacts=("*.png",),
)


def unpacked(packed: bytes) -> Description:
    return Description(anonymous_file(packed))


def test_a_namespaced_cell_is_told_all_it_may_touch():
    cell = unpacked(pack_cell(CELL))
    told = cell.data
    assert cell.blob(told["seccomp"]) == b"12345678"
    assert (told["uid"], told["gid"], told["outer_uid"], told["outer_gid"]) == (
        *(1000, 1001),
        *(65432, 65433),
    )
    assert told["project"] == {
        "source": "/tmp/0",
        "target": "/srv/project",
        "mode": "cow",
        "commit": False,
        "room": "",
        "room_bytes": 0,
        "room_inodes": ROOM_INODES,
        "secrets": [".env"],
        "special": ["dev.sock"],
    }
    assert told["scratch"][:2] == [2 * MIB, 300]
    assert ["/tmp/1", "/opt/ruby", 0b111] in told["binds"]
    files = {path: cell.blob((offset, size)) for path, _, offset, size in told["files"]}
    assert files == box.account_files(1000, 1001)


def test_what_is_committed_is_a_view_with_room_of_its_own():
    spec = replace(CELL, access=ProjectAccess.COMMIT, room="/state/rooms/1")
    project = unpacked(pack_cell(spec)).data["project"]
    wanted = {"mode": "cow", "commit": True, "room": "/state/rooms/1", "room_bytes": ROOM_BYTES}
    assert project.items() >= wanted.items()


def test_everything_but_devices_is_bound_read_only():
    for _, path, attributes in unpacked(pack_cell(CELL)).data["binds"]:
        read_only = attributes & 1 == 1
        assert read_only != (path in box.DEVICES), path


@pytest.mark.parametrize(
    ("access", "writable"),
    [
        (ProjectAccess.COPY_ON_WRITE, True),
        (ProjectAccess.COMMIT, True),
        (ProjectAccess.LIVE, True),
        (ProjectAccess.READ_ONLY, False),
    ],
)
def test_landlock_grants_writing_where_the_profile_does(access, writable):
    told = unpacked(pack_cell(replace(CELL, access=access))).data
    granted = {path for path, how in told["access"] if how == "rw"}
    own = {"/tmp", "/home/sandbox", "/dev/shm", *box.DEVICES}
    assert granted == own | ({"/srv/project"} if writable else set())
    assert told["access"][0] == ["/", "r"]


def test_a_cell_without_namespaces_is_granted_named_paths_and_never_the_root():
    spec = replace(CELL, namespaces=False, scratch="/tmp/c/tmp", job="/tmp/c/job")
    readable = (("/srv/project", "list"), ("/srv/project/a.py", "r"))
    told = unpacked(pack_cell(replace(spec, readable=readable))).data
    access = [tuple(grant) for grant in told["access"]]
    assert told["deny_tcp"]
    assert "binds" not in told
    assert {path for path, how in access if how == "rw"} == {"/tmp/c/tmp", *box.DEVICES}
    assert ("/tmp/c/job", "r") in access
    assert ("/tmp/1", "r") in access
    assert set(readable) <= set(access)
    forbidden = {"/", "/etc", "/home", "/root", "/tmp", "/var", "/dev", "/run", "/sys"}
    assert not forbidden & {path for path, _ in access}


def test_a_run_is_told_its_steps_files_and_limits():
    run = unpacked(pack_run(RUN))
    files = {path: (mode, run.blob((at, size))) for path, mode, at, size in run.data.pop("files")}
    assert files == {"/job/x.c": (0o755, b"int main;"), "/job/data": (0o755, b"\0\xff")}
    rlimits = dict(run.data.pop("rlimits"))
    assert run.data == {
        "steps": [
            [["/usr/bin/cc", "x.c"], "compile", False],
            [["/tmp/x"], "run", True],
        ],
        "env": {"A": "b"},
        "cwd": "/srv/project",
        "links": [["/job/lib", "/srv/project/lib"]],
        "artifacts": ["*.png"],
        "artifact_bytes": LIMITS.artifact_bytes,
        "cpu_s": 9.5,
        "memory_bytes": None,
    }
    assert rlimits == {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: 50,
        resource.RLIMIT_FSIZE: MIB,
        resource.RLIMIT_CPU: 10,
        resource.RLIMIT_MEMLOCK: MIB,
        resource.RLIMIT_SIGPENDING: 1024,
    }


def test_without_a_control_group_memory_and_processes_are_limited_otherwise():
    run = unpacked(pack_run(RUN, without_cgroup=True)).data
    rlimits = dict(run["rlimits"])
    assert run["memory_bytes"] == 64 * MIB
    assert (rlimits[resource.RLIMIT_DATA], rlimits[resource.RLIMIT_NPROC]) == (64 * MIB, 40)
    # Address space is never limited: V8, the JVM and BEAM reserve far more than they use.
    assert resource.RLIMIT_AS not in rlimits


def test_a_description_has_no_size_limit_of_a_message():
    code = os.urandom(3 * MIB)
    run = unpacked(pack_run(replace(RUN, files={"/job/x": code})))
    ((_, _, offset, size),) = run.data["files"]
    assert run.blob((offset, size)) == code


def test_default_limits_fit_their_kernel_interfaces():
    told = dict(
        unpacked(pack_run(replace(RUN, limits=Limits()), without_cgroup=True)).data["rlimits"]
    )
    assert all(isinstance(value, int) and 0 <= value <= 8 * GIB for value in told.values())
