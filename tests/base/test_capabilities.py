"""A process knows which capabilities are in effect for it, whoever it is."""

from __future__ import annotations

import builtins
import io

import pytest

from base import capabilities

STATUS = "Name:\tx\nUid:\t0\t0\t0\t0\nCapPrm:\t000001ffffffffff\nCapEff:\t{}\n"


@pytest.mark.parametrize(
    ("effective", "asked", "held"),
    [
        ("000001ffffffffff", (capabilities.SYS_ADMIN, capabilities.CHOWN), True),
        ("0000000000000000", (capabilities.CHOWN,), False),  # root in a container
        ("00000000a80425fb", (capabilities.CHOWN, capabilities.SETUID), True),
        ("00000000a80425fb", (capabilities.CHOWN, capabilities.SYS_ADMIN), False),
        ("0000000000000001", (), True),
    ],
)
def test_all_that_is_asked_for_has_to_be_in_effect(monkeypatch, effective, asked, held):
    monkeypatch.setattr(builtins, "open", lambda *_, **__: io.StringIO(STATUS.format(effective)))
    assert capabilities.holds(*asked) is held


def test_what_cannot_be_read_is_not_held(monkeypatch):
    def fail(*_: object, **__: object) -> None:
        raise OSError

    monkeypatch.setattr(builtins, "open", fail)
    assert not capabilities.holds(capabilities.CHOWN)
