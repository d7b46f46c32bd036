"""Which engine is used, and what is made of what it says of itself. Pure."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from executor.containers.engine import Endpoint, EngineError, _limits, find_endpoint


def add_context(folder: Path, name: str, host: str, *, with_keys: bool = False) -> None:
    digest = hashlib.sha256(name.encode()).hexdigest()
    meta = folder / "contexts" / "meta" / digest
    meta.mkdir(parents=True)
    (meta / "meta.json").write_text(json.dumps({"Endpoints": {"docker": {"Host": host}}}))
    if with_keys:
        (folder / "contexts" / "tls" / digest / "docker").mkdir(parents=True)


def test_a_variable_names_the_engine_before_any_context(tmp_path: Path):
    add_context(tmp_path, "far", "ssh://far")
    environ = {"DOCKER_CONFIG": str(tmp_path), "DOCKER_CONTEXT": "far"}
    assert find_endpoint(environ) == Endpoint("ssh://far")
    assert find_endpoint(environ | {"DOCKER_HOST": "tcp://h:1"}) == Endpoint("tcp://h:1")
    verified = environ | {"DOCKER_HOST": "tcp://h:1", "DOCKER_CERT_PATH": "/keys"}
    assert find_endpoint(verified) == Endpoint("tcp://h:1", Path("/keys"))


def test_the_current_context_is_read_with_its_keys(tmp_path: Path):
    add_context(tmp_path, "near", "tcp://near:2376", with_keys=True)
    (tmp_path / "config.json").write_text('{"currentContext": "near"}')
    found = find_endpoint({"DOCKER_CONFIG": str(tmp_path)})
    assert found.url == "tcp://near:2376"
    assert found.certificates is not None
    assert found.certificates.is_dir()


def test_a_context_that_is_not_there_and_a_file_that_can_not_be_read_are_told(tmp_path: Path):
    environ = {"DOCKER_CONFIG": str(tmp_path), "DOCKER_CONTEXT": "none-such"}
    with pytest.raises(EngineError, match="none-such"):
        find_endpoint(environ)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(EngineError, match=r"config\.json"):
        find_endpoint({"DOCKER_CONFIG": str(tmp_path)})


@pytest.mark.parametrize(
    ("info", "limits"),
    [
        ({"CgroupDriver": "systemd", "MemoryLimit": True, "PidsLimit": True}, True),
        ({"CgroupDriver": "none", "MemoryLimit": True, "PidsLimit": True}, False),
        ({"CgroupDriver": "cgroupfs", "MemoryLimit": True, "PidsLimit": False}, False),
        ({"CgroupDriver": "cgroupfs", "MemoryLimit": False, "PidsLimit": True}, False),
        ({}, False),
    ],
)
def test_an_engine_limits_only_if_it_says_so(info: dict[str, object], limits: bool):
    assert _limits(info) is limits
