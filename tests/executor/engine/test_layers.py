"""Every layer of isolation is told: in force and by what, or why not and what helps."""

from __future__ import annotations

from pathlib import Path

import pytest

from executor.engine.layers import (
    BECOME_ABLE,
    PROFILE,
    REMEDIES,
    STAYS_ROOT,
    layers,
)
from executor.engine.tiers import TIERS
from executor.model import Layer

FULL = {
    "can": TIERS["A"],
    "supervisor": {"landlock": 7, "copy_on_write": True},
    "filter_instructions": 184,
    "cgroup_version": 2,
}
COMPLETE = {
    "namespaces": Layer(True, "user, mount, pid, net, ipc, uts, cgroup"),
    "seccomp": Layer(True, "calls by a table, 184 instructions"),
    "landlock": Layer(True, "ABI 7"),
    "cgroup": Layer(True, "version 2: memory, processes"),
    "network": Layer(True, "none: an empty network namespace"),
    "copy_on_write": Layer(True, "an overlay on a sized tmpfs"),
}


@pytest.fixture(autouse=True)
def outside(monkeypatch) -> None:
    """Not in a container, wherever the tests run."""
    monkeypatch.setattr("executor.engine.layers.CONTAINER_MARKS", ())
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)


def lacking(name: str, reason: str, instead: str = "") -> Layer:
    return Layer(False, instead, reason, REMEDIES[name])


ONE_BY_ONE = "calls that act on a process are judged one by one: only the run's own pass"
BY_RLIMITS = "memory and processes by rlimits and sampling of the whole tree"
CASES = {
    "everything": (FULL, {}),
    "version 1": (
        dict(FULL, cgroup_version=1),
        {"cgroup": Layer(True, "version 1: memory, processes")},
    ),
    "no control group": (
        dict(FULL, cgroup_version=None, why_no_cgroup="not delegated"),
        {"cgroup": lacking("cgroup", "not delegated", BY_RLIMITS)},
    ),
    "no Landlock": (
        dict(FULL, supervisor={"landlock": 0, "copy_on_write": True}),
        {"landlock": lacking("landlock", "this kernel has no Landlock")},
    ),
    "no overlay": (
        dict(FULL, supervisor={"landlock": 7, "copy_on_write": "mount overlay: EINVAL"}),
        {"copy_on_write": lacking("copy_on_write", "mount overlay: EINVAL")},
    ),
    "real root": (
        dict(FULL, mapped_uid=65432),
        {"id_mapping": Layer(True, "the project's owner appears as 65432")},
    ),
    "real root without id mapping": (
        dict(FULL, mapped_uid=65432, why_not_mapped="mount_setattr: EINVAL"),
        {"id_mapping": lacking("id_mapping", "mount_setattr: EINVAL")},
    ),
    "root without capabilities": (
        dict(FULL, can=TIERS["B"], why_no_namespaces=STAYS_ROOT, supervisor={"landlock": 7}),
        {
            "namespaces": Layer(False, ONE_BY_ONE, STAYS_ROOT, BECOME_ABLE),
            "network": Layer(True, "none: seccomp refuses every socket"),
            "copy_on_write": Layer(
                False, "the project is read-only", "needs namespaces", BECOME_ABLE
            ),
            "id_mapping": Layer(
                False,
                "programs run as this root, without any capability; "
                "only sampling limits how many processes they start",
                STAYS_ROOT,
                BECOME_ABLE,
            ),
        },
    ),
    "tier B": (
        dict(FULL, can=TIERS["B"], why_no_namespaces="unshare: EPERM", supervisor={"landlock": 7}),
        {
            "namespaces": Layer(
                False,
                "calls that act on a process are judged one by one: only the run's own pass",
                "unshare: EPERM",
                REMEDIES["namespaces"],
            ),
            "network": Layer(True, "none: seccomp refuses every socket"),
            "copy_on_write": Layer(
                False, "the project is read-only", "needs namespaces", REMEDIES["namespaces"]
            ),
        },
    ),
}


@pytest.mark.parametrize(("found", "differing"), CASES.values(), ids=CASES.keys())
def test_layers_are_told_as_they_were_found(found, differing):
    assert layers(**found) == COMPLETE | differing


@pytest.mark.parametrize(("found", "_"), CASES.values(), ids=CASES.keys())
def test_a_layer_that_is_not_in_force_says_why_and_what_helps(found, _):
    for layer in layers(**found).values():
        assert layer.active != bool(layer.reason)
        assert layer.active != bool(layer.remedy)


def test_every_remedy_is_of_a_layer_that_can_be_lacking():
    lacked = {
        name
        for found, _ in CASES.values()
        for name, layer in layers(**found).items()
        if not layer.active
    }
    assert lacked | {"seccomp"} == set(REMEDIES)  # without seccomp no tier is given at all


@pytest.mark.parametrize("case", ["root without capabilities", "tier B"])
@pytest.mark.parametrize("mark", ["file", "variable", ""])
def test_in_a_container_its_options_are_what_helps(case, mark, monkeypatch, tmp_path: Path):
    (tmp_path / "mark").touch()
    if mark == "file":
        monkeypatch.setattr("executor.engine.layers.CONTAINER_MARKS", (str(tmp_path / "mark"),))
    if mark == "variable":
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    found, _ = CASES[case]
    named = layers(**dict(found, cgroup_version=None, why_no_cgroup="not delegated"))
    is_told = {name for name, layer in named.items() if "docker run" in layer.remedy}
    expected = {name for name, layer in named.items() if not layer.active}
    assert is_told == (expected if mark else set())
    assert PROFILE.is_file()
