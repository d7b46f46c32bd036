"""What images are built on where no registry can be reached."""

import os

import pytest

from images import base
from images.base import Settings

DEBIAN = Settings({}, {}, "bookworm", ("deb http://mirror.example bookworm main",))
MACHINE = {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ({}, None),
        ({"settings": Settings()}, "only on Debian or Ubuntu"),
        ({"tools": False}, "debootstrap is not installed"),
        ({"capable": False}, "needs root and its capabilities"),
        ({"arch": "s390x"}, "the engine is for s390x"),
    ],
)
def test_what_keeps_a_host_from_making_a_base_is_told_with_what_to_do(monkeypatch, host, expected):
    path = "/bin/debootstrap" if host.get("tools", True) else None
    monkeypatch.setattr(base.process, "holds", lambda *asked: host.get("capable", True))
    monkeypatch.setattr(base.shutil, "which", lambda name: path)
    found = base.lacking(host.get("settings", DEBIAN), {"Arch": host.get("arch", MACHINE)})
    if expected is None:
        assert found is None
    else:
        assert found is not None
        assert expected in found[0]
        assert "--base IMAGE" in found[1]
