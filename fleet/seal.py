"""Sealing an order with the front's key, and opening a sealed one where that key is served.

A sealed order is one line and the order's bytes as they are:

    context-mode-order PROTOCOL KEY SIGNATURE LF bytes

The Ed25519 signature covers the protocol number and the bytes. Nothing of them is parsed before it
holds. The same order sealed again has the same bytes, so that an engine joins it to the first.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

if TYPE_CHECKING:
    from fleet.model import Order

ORDER_BYTES_MAX: Final = 16 << 20
"""What an order takes at most, without its line."""

LINE_BYTES_MAX: Final = 256
SEALED_BYTES_MAX: Final = LINE_BYTES_MAX + ORDER_BYTES_MAX
"""What a sealed order takes at most. Who reads one stops a byte behind that."""

ANY_OWNER: Final = "*"
"""Among the owners of a key: the front may send for everyone."""

_LINE = re.compile(rb"context-mode-order ([1-9][0-9]{0,5}) ([0-9a-f]{16}) ([0-9a-f]{128})\n")


class SealError(Exception):
    """A sealed order is not to be run. `reason` is one word for it, for counting."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class ServedKey:
    """A front's public key (32 bytes) that a worker serves, and the owners it may send for."""

    name: str
    public: bytes
    owners: frozenset[str]


def _identify(public: bytes) -> str:
    return hashlib.sha256(public).hexdigest()[:16]


def seal_order(order: bytes, key: Ed25519PrivateKey, protocol: int) -> bytes:
    """Return an order's bytes under the seal of a front.

    Raises:
        SealError: `size`, it is larger than an order may be.
    """
    _check_size(len(order))
    signature = key.sign(_signed(protocol, order)).hex().encode()
    identity = _identify(key.public_key().public_bytes_raw()).encode()
    return b"context-mode-order %d %s %s\n%s" % (protocol, identity, signature, order)


def open_order(
    sealed: bytes,
    keys: Iterable[ServedKey],
    protocol: int,
    now_s: float,
    read: Callable[[bytes], Order],
) -> Order:
    """Return the order under a seal, once all that a worker demands of it holds.

    It takes orders of these keys and of its own protocol number, at `now_s`, in seconds since the
    epoch. `read` makes an order of bytes that a served front signed. It raises ValueError,
    TypeError, KeyError or RecursionError where they are none.

    Raises:
        SealError: `size`, `unsealed`, `unknown_key`, `changed`, `protocol`, `unreadable`, `owner`
            or `expired`.
    """
    line = _LINE.match(sealed[:LINE_BYTES_MAX])
    if line is None:
        raise SealError("unsealed", "the order has no seal of a front")
    _check_size(len(sealed) - line.end())
    order, identity = sealed[line.end() :], line[2].decode()
    key = next((one for one in keys if _identify(one.public) == identity), None)
    if key is None:
        raise SealError("unknown_key", f"no front with the key {identity} is served here")
    sealed_protocol = int(line[1])
    try:
        Ed25519PublicKey.from_public_bytes(key.public).verify(
            bytes.fromhex(line[3].decode()), _signed(sealed_protocol, order)
        )
    except InvalidSignature:
        raise SealError("changed", f"the order is not as {key.name} has sealed it") from None
    if sealed_protocol != protocol:
        raise SealError(
            "protocol", f"the order has protocol {sealed_protocol}, this worker {protocol}"
        )
    try:
        opened = read(order)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise SealError("unreadable", f"{key.name} sealed what is no order: {error}") from error
    _check_terms(opened, key, now_s)
    return opened


def _check_terms(order: Order, key: ServedKey, now_s: float) -> None:
    if not {order.owner, ANY_OWNER} & key.owners:
        raise SealError("owner", f"{key.name} may not send orders for {order.owner!r}")
    if not order.not_after < math.inf:  # no number, too
        raise SealError("expired", "the order names no time after which it is not to be run")
    if now_s > order.not_after:
        late_s = now_s - order.not_after
        raise SealError("expired", f"the order came {late_s:.0f} s after its last moment")


def _check_size(size: int) -> None:
    if size > ORDER_BYTES_MAX:
        raise SealError(
            "size", f"the order has {size} bytes, {ORDER_BYTES_MAX >> 20} MiB are the most"
        )


def _signed(protocol: int, order: bytes) -> bytes:
    # No signature for another purpose, nor of another protocol, is one of this.
    return b"context-mode-order %d\n%s" % (protocol, order)
