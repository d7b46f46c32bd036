"""Control groups: which version is taken, what is written and read, and a real one."""

from __future__ import annotations

import os
import secrets
import subprocess
from pathlib import Path

import pytest

from executor.cells import cgroup
from executor.cells.cgroup import V1, V2, ControlGroup, Hierarchy
from executor.engine.box import Consumption
from executor.model import MIB, Limits


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Lays out a made-up machine: mounted hierarchies, and the groups this process is in."""

    def lay_out(mounts: dict[str, str], groups: str) -> Path:
        lines = [
            f"3{n} 25 0:2{n} / {tmp_path}/{folder} rw,nosuid shared:9 - {kind}"
            for n, (folder, kind) in enumerate(mounts.items())
        ]
        (tmp_path / "mountinfo").write_text("".join(f"{line}\n" for line in lines))
        (tmp_path / "own").write_text(groups)
        for folder in mounts:
            (tmp_path / folder).mkdir()
        monkeypatch.setattr(cgroup, "MOUNT_TABLE", tmp_path / "mountinfo")
        monkeypatch.setattr(cgroup, "OWN_GROUPS", tmp_path / "own")
        return tmp_path

    return lay_out


V1_MOUNTS = {
    "memory": "cgroup cgroup rw,memory",
    "pids": "cgroup cgroup rw,pids",
}
V2_MOUNT = {"unified": "cgroup2 cgroup2 rw,nsdelegate"}
HYBRID_GROUPS = "5:pids:/a/b\n4:memory:/gone\n1:name=systemd:/x\n0::/user.slice/me.scope\n"


def delegate(root: Path, controllers: str) -> Path:
    parent = root / "unified" / "user.slice"
    (parent / "me.scope").mkdir(parents=True)
    (parent / "cgroup.subtree_control").write_text(controllers)
    return parent


def test_version_2_is_taken_where_its_controllers_are_handed_down(machine):
    root = machine(V2_MOUNT | V1_MOUNTS, HYBRID_GROUPS)
    parent = delegate(root, "cpu memory pids\n")
    folder = parent / "ctxmode-7"
    assert cgroup.find("7") == (Hierarchy(2, V2, {"memory": folder, "pids": folder}), "")
    assert (folder / "cgroup.subtree_control").read_text() == "+memory +pids"


def test_version_1_is_taken_where_version_2_lacks_controllers(machine):
    root = machine(V2_MOUNT | V1_MOUNTS, HYBRID_GROUPS)
    delegate(root, "hugetlb\n")
    (root / "pids" / "a" / "b").mkdir(parents=True)
    folders = {
        "memory": root / "memory" / "ctxmode-7",  # its own group is of another namespace
        "pids": root / "pids" / "a" / "b" / "ctxmode-7",
    }
    assert cgroup.find("7") == (Hierarchy(1, V1, folders), "")


@pytest.mark.parametrize(
    ("mounts", "groups", "reasons"),
    [
        ({}, HYBRID_GROUPS, ("no cgroup2 file system", "no cgroup file system")),
        (V2_MOUNT, "5:pids:/\n", ("in no group of version 2", "with memory")),
        ({"memory": V1_MOUNTS["memory"]}, HYBRID_GROUPS, ("no cgroup2", "with pids")),
    ],
)
def test_without_any_there_is_a_reason_for_each_version(machine, mounts, groups, reasons):
    machine(mounts, groups)
    hierarchy, why = cgroup.find("7")
    assert hierarchy is None
    assert why.startswith("version 2: ")
    assert "; version 1: " in why
    assert all(reason in why for reason in reasons)


def test_the_reason_is_the_same_for_every_instance(machine):
    root = machine(V2_MOUNT | V1_MOUNTS, HYBRID_GROUPS)
    parent = delegate(root, "memory pids\n")
    reasons = set()
    for instance in ("7", "8"):
        for folder in (parent, root / "memory"):
            (folder / f"ctxmode-{instance}").write_text("")  # no folder can be made there
        hierarchy, why = cgroup.find(instance)
        assert hierarchy is None
        reasons.add(why)
    assert len(reasons) == 1
    assert f"{root / 'memory'}/ctxmode-*" in why


def hierarchy_of(version: int, root: Path) -> Hierarchy:
    if version == 2:
        return Hierarchy(2, V2, {"memory": root, "pids": root})
    for controller in ("memory", "pids"):
        (root / controller).mkdir()
    return Hierarchy(1, V1, {"memory": root / "memory", "pids": root / "pids"})


WRITTEN = {
    2: {"run/memory.max": "67108864", "run/memory.swap.max": "0", "run/pids.max": "40"},
    1: {
        "memory/run/memory.limit_in_bytes": "67108864",
        "memory/run/memory.memsw.limit_in_bytes": "67108864",
        "pids/run/pids.max": "40",
    },
}
JOINED = {
    2: {"run/cgroup.procs": "123"},
    1: {"memory/run/cgroup.procs": "123", "pids/run/cgroup.procs": "123"},
}


def contents(root: Path) -> dict[str, str]:
    return {str(p.relative_to(root)): p.read_text() for p in root.rglob("*") if p.is_file()}


@pytest.mark.parametrize("version", [1, 2])
def test_a_group_is_made_with_its_limits_and_joined_in_every_hierarchy(version, tmp_path: Path):
    limits = Limits(memory_bytes=64 * MIB, processes=40)
    group = cgroup.make_group(hierarchy_of(version, tmp_path), "run")
    group.limit(limits)
    assert contents(tmp_path) == WRITTEN[version]
    group.add(123)
    assert contents(tmp_path) == WRITTEN[version] | JOINED[version]


@pytest.mark.parametrize(
    ("version", "files", "consumption"),
    [
        (
            2,
            {
                "memory.peak": "1234\n",
                "memory.events": "low 0\nmax 9\noom 2\noom_kill 1\n",
                "pids.events": "max 3\n",
            },
            Consumption(1234, oom_kills=1, fork_refusals=3),
        ),
        (
            1,
            {
                "memory/memory.max_usage_in_bytes": "99\n",
                "memory/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n",
                "pids/pids.events": "max 0\n",
            },
            Consumption(99, oom_kills=2, fork_refusals=0),
        ),
        # memory.peak came with Linux 5.19, the rest may have gone with the group
        (2, {"memory.peak": "max\n"}, Consumption(None, oom_kills=0, fork_refusals=0)),
        (1, {}, Consumption(None, oom_kills=0, fork_refusals=0)),
    ],
)
def test_consumption_is_read_by_each_versions_names(version, files, consumption, tmp_path: Path):
    hierarchy = hierarchy_of(version, tmp_path)
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert ControlGroup(hierarchy, hierarchy.folders).consumption() == consumption


def test_removal_tells_whether_the_group_is_gone(tmp_path: Path):
    group = ControlGroup(
        hierarchy_of(1, tmp_path), {"memory": tmp_path / "m", "pids": tmp_path / "p"}
    )
    (tmp_path / "m").mkdir()
    (tmp_path / "p" / "still held").mkdir(parents=True)
    assert not group.remove()
    assert not (tmp_path / "m").exists()
    (tmp_path / "p" / "still held").rmdir()
    assert group.remove()
    assert group.remove()


def test_a_real_group_confines_counts_and_goes_away():
    hierarchy, why = cgroup.find(f"test-{secrets.token_hex(4)}")
    if hierarchy is None:
        prefix = "" if os.geteuid() == 0 else "not applicable: "
        pytest.skip(f"{prefix}no control group can be made here: {why}")
    try:
        group = cgroup.make_group(hierarchy, "run")
        group.limit(Limits(memory_bytes=64 * MIB, processes=8))
        program = subprocess.Popen(["sh", "-c", "read go; exec sleep 60"], stdin=subprocess.PIPE)
        group.add(program.pid)
        assert program.stdin is not None
        program.stdin.close()
        assert not group.remove()
        members = [(folder / "cgroup.procs").read_text() for folder in group.folders.values()]
        assert all(str(program.pid) in text.split() for text in members)
        program.kill()
        program.wait()
        assert group.consumption().oom_kills == 0
        assert group.remove()
    finally:
        cgroup.remove_hierarchy(hierarchy)
    assert not any(folder.exists() for folder in hierarchy.folders.values())
