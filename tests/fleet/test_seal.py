"""An order is opened only as a served front sealed it, for an owner of that front, in time."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

import policy
from fleet import model
from fleet.seal import (
    ANY_OWNER,
    ORDER_BYTES_MAX,
    SealError,
    open_order,
    seal_order,
)
from fleet.slot import WorkerTerms
from fleet.worker import open_worker
from policy.model import Decision, Rule, Rules, RuleSource
from tests.fleet.orders import OTHER_KEY, TestFront, result_in, sealed, write_keys

KEY = Ed25519PrivateKey.from_private_bytes(bytes(32))
OTHER = Ed25519PrivateKey.from_private_bytes(bytes([1]) * 32)
NOW_S = 1_000.0


@dataclass(frozen=True)
class Order:
    owner: str = "alice"
    not_after: float = NOW_S + 60


def written(order: Order) -> bytes:
    return json.dumps([order.owner, order.not_after]).encode()


def read(data: bytes) -> Order:
    owner, not_after = json.loads(data)
    return Order(owner, not_after)


def never_read(data: bytes) -> Order:
    raise AssertionError("it was read before its seal was found to hold")


def served(key: Ed25519PrivateKey = KEY, owners: tuple[str, ...] = ("alice", "ci"), name="office"):
    return {name: (key.public_key().public_bytes_raw(), frozenset(owners))}


TAKEN = {"keys": served(), "protocol": 3, "now_s": NOW_S}
SEALED = seal_order(written(Order()), KEY, 3)


def reason(sealed: bytes, taken: dict[str, Any] = TAKEN, reader=read) -> str:
    with pytest.raises(SealError) as caught:
        open_order(sealed, **taken, read=reader)
    return caught.value.reason


@pytest.mark.parametrize(
    "taken",
    [
        TAKEN,
        TAKEN | {"now_s": NOW_S + 60},
        TAKEN | {"keys": served(OTHER, name="other") | served()},
        TAKEN | {"keys": served(owners=(ANY_OWNER,))},
    ],
)
def test_a_sealed_order_is_opened(taken):
    assert open_order(SEALED, **taken, read=read) == Order()


def test_the_same_order_sealed_again_is_the_same_bytes():
    assert seal_order(written(Order()), KEY, 3) == SEALED
    assert seal_order(written(Order("ci")), KEY, 3) != SEALED


@pytest.mark.parametrize(
    ("sealed", "expected"),
    [
        (b"", "unsealed"),
        (written(Order()), "unsealed"),
        (SEALED[:50], "unsealed"),
        (b"\n" + SEALED, "unsealed"),
        (SEALED.replace(b" 3 ", b" 0 "), "unsealed"),
        (SEALED.replace(b" 3 ", b" 4 "), "changed"),
        (SEALED.replace(b"alice", b"ci"), "changed"),
        (SEALED[:-1], "changed"),
        (SEALED + b" ", "changed"),
        (seal_order(written(Order()), OTHER, 3), "unknown_key"),
        (SEALED + bytes(ORDER_BYTES_MAX), "size"),
        # The signature of one order on another.
        (SEALED.partition(b"\n")[0] + b"\n" + written(Order("ci")), "changed"),
    ],
)
def test_what_no_served_front_sealed_is_not_even_read(sealed, expected):
    assert reason(sealed, reader=never_read) == expected


@pytest.mark.parametrize(
    ("order", "taken", "expected"),
    [
        (Order("bob"), TAKEN, "owner"),
        (Order(""), TAKEN, "owner"),
        (Order(ANY_OWNER), TAKEN, "owner"),
        (Order(), TAKEN | {"keys": served(owners=())}, "owner"),
        (Order(), TAKEN | {"keys": {}}, "unknown_key"),
        (Order(), TAKEN | {"now_s": NOW_S + 61}, "expired"),
        (Order(not_after=math.inf), TAKEN, "expired"),
        (Order(not_after=math.nan), TAKEN, "expired"),
        (Order(), TAKEN | {"protocol": 2}, "protocol"),
    ],
)
def test_what_a_front_sealed_is_held_to_its_terms(order, taken, expected):
    assert reason(seal_order(written(order), KEY, 3), taken) == expected


@pytest.mark.parametrize("order", [b"", b"{", b"3", b"[1]", b"{}", b"\xff", b"[" * 100_000])
def test_what_a_front_sealed_and_is_no_order_is_told(order):
    assert reason(seal_order(order, KEY, 3)) == "unreadable"


def test_another_protocol_is_told_before_the_order_is_read():
    assert reason(SEALED, TAKEN | {"protocol": 4}, never_read) == "protocol"


def test_nothing_larger_than_an_order_is_sealed():
    with pytest.raises(SealError, match="16 MiB"):
        seal_order(bytes(ORDER_BYTES_MAX + 1), KEY, 3)


@pytest.mark.parametrize("bit", range(8))
def test_no_changed_bit_goes_unnoticed(bit):
    for place in range(len(SEALED)):
        changed = bytearray(SEALED)
        changed[place] ^= 1 << bit
        assert reason(bytes(changed), reader=never_read) in {"unsealed", "unknown_key", "changed"}


@given(st.binary(max_size=400))
def test_no_bytes_make_it_fail_otherwise(data):
    assert reason(data, reader=never_read) == "unsealed"


HARMS: dict[str, Callable[[TestFront], bytes]] = {
    "changed": lambda front: front.seal("echo ran").replace(b"echo ran", b"echo RAN"),
    "unsealed": lambda front: model.encode(front.order("echo ran")),
    "unknown_key": lambda front: sealed(front.order("echo ran"), OTHER_KEY),
    "expired": lambda front: front.seal("echo ran", not_after=time.time() - 1),
    "owner": lambda front: front.seal("echo ran", owner="mallory"),
}


async def test_at_a_worker_only_what_is_sealed_and_in_time_runs(project: Path, tmp_path: Path):
    front, out = TestFront(project), tmp_path / "out"
    out.mkdir()
    keys = write_keys(tmp_path / "fronts.toml")
    async with open_worker(WorkerTerms(tmp_path / "worker", keys, at_once=1)) as worker:
        for expected, harm in HARMS.items():
            with pytest.raises(SealError) as caught:
                await worker.do(harm(front), front.fetch, out)
            assert (caught.value.reason, front.fetched, list(out.iterdir())) == (expected, [], [])
        await worker.do(front.seal("echo ran"), front.fetch, out)  # the control
        assert result_in(out)["stdout"]["head"] == "ran\n"
        keys.write_text(keys.read_text().replace("alice", "bob"))  # holds for the next order
        with pytest.raises(SealError, match="alice"):
            await worker.do(front.seal("echo ran"), front.fetch, out)


async def test_at_a_worker_its_own_rules_deny_as_well(project: Path, tmp_path: Path):
    front, rules = TestFront(project), tmp_path / "rules.toml"
    (project / "keys").mkdir()
    (project / "keys" / "a").write_text("a key\n")
    terms = WorkerTerms(tmp_path / "worker", write_keys(tmp_path / "fronts.toml"), rules, at_once=1)
    asks = Rule("front", "command", "id", "id *", Decision.ASK, RuleSource("front", 1))
    asked = policy.judge(policy.Subject("shell", "id -u"), Rules((asks,))).to_json()
    consented = {"rules": Rules((asks,)), "verdict": asked | {"consent": True}}
    number = 0

    async def status(code: str, **more: object) -> str:
        nonlocal number
        number += 1
        out = tmp_path / f"out-{number}"
        out.mkdir()
        await worker.do(front.seal(code, **more), front.fetch, out)
        return str(result_in(out)["status"])

    async with open_worker(terms) as worker:
        assert await status("id -u", **consented) == "ok"  # the control
        assert await status("id -u", rules=Rules((asks,))) == "denied"
        assert await status("cat keys/a") == "ok"
        rules.write_text(
            '[[rule]]\nid = "no-id"\ncommands = ["id *"]\ndecision = "ask"\n'
            '[[rule]]\nid = "keys"\nread = ["/keys/**"]\ndecision = "deny"\n'
        )
        assert await status("id -u", **consented) == "denied"
        assert await status("cat keys/a") == "denied"
        unknown = {"language": "python", "request": {"stdin": b"keys/a"}}
        assert await status("open(input())", **unknown) == "nonzero_exit"
        rules.write_text("rule =")
        with pytest.raises(policy.RuleFileError):
            await status("echo on")


async def test_at_a_worker_the_fronts_rules_hold_where_the_project_lies(
    project: Path, tmp_path: Path
):
    front, out = TestFront(project), tmp_path / "out"
    (project / "keys").mkdir()
    (project / "keys" / "a").write_text("a key\n")
    read = Rule("keys", "read", "/keys", "/keys/**", Decision.DENY, RuleSource("front", 1), "/x/y")
    keys = write_keys(tmp_path / "fronts.toml")
    async with open_worker(WorkerTerms(tmp_path / "worker", keys, at_once=1)) as worker:
        for where, expected in (("/x/y", "nonzero_exit"), ("/x/z", "ok")):
            out.mkdir(exist_ok=True)
            given = {"request": {"stdin": b"keys/a"}, "rules": Rules((read,)), "project": where}
            order = front.seal("open(input())", "python", **given)
            await worker.do(order, front.fetch, out)
            assert result_in(out)["status"] == expected
