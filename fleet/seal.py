"""Sealing an order with the front's key, and opening a sealed order on a worker.

A sealed order is one line and the order's bytes unchanged:

    context-mode-order PROTOCOL KEY SIGNATURE LF bytes

The Ed25519 signature covers the protocol number and the bytes. Nothing is parsed before the
signature is verified. An order sealed again has the same bytes: an engine joins it to the first.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

if TYPE_CHECKING:
    from fleet.model import Order
import base64
import os
import stat
import tomllib
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization

from base.plain_files import open_plain
from fleet.cluster import ClusterError

ORDER_BYTES_MAX: Final = 16 << 20
"""Limit of an order, without its line."""

LINE_BYTES_MAX: Final = 256
SEALED_BYTES_MAX: Final = LINE_BYTES_MAX + ORDER_BYTES_MAX
"""Limit of a sealed order. A reader stops one byte after it."""

ANY_OWNER: Final = "*"
"""An entry in the owners of a key: the front may send for everyone."""

_LINE = re.compile(rb"context-mode-order ([1-9][0-9]{0,5}) ([0-9a-f]{16}) ([0-9a-f]{128})\n")


class SealError(Exception):
    """A sealed order that must not be run. `reason` is one word for it, for counting."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


ServedKeys = Mapping[str, tuple[bytes, frozenset[str]]]
"""By a front's name its public key (32 bytes), and the owners that it may send for."""


def _identify(public: bytes) -> str:
    return hashlib.sha256(public).hexdigest()[:16]


def seal_order(order: bytes, key: Ed25519PrivateKey, protocol: int) -> bytes:
    """Return an order's bytes under the seal of a front.

    Raises:
        SealError: `size`: it is larger than an order may be.
    """
    _check_size(len(order))
    signature = key.sign(_signed(protocol, order)).hex().encode()
    identity = _identify(key.public_key().public_bytes_raw()).encode()
    return b"context-mode-order %d %s %s\n%s" % (protocol, identity, signature, order)


def open_order(
    sealed: bytes,
    keys: ServedKeys,
    protocol: int,
    now_s: float,
    read: Callable[[bytes], Order],
) -> Order:
    """Return the order under a seal, once everything that a worker requires of it is verified.

    Only orders of these keys and of this protocol number are accepted, at `now_s`, in seconds since
    the epoch. `read` makes an order of bytes that a served front signed. It raises ValueError,
    TypeError, KeyError or RecursionError if they are not an order.

    Raises:
        SealError: `size`, `unsealed`, `unknown_key`, `changed`, `protocol`, `unreadable`, `owner`
            or `expired`.
    """
    line = _LINE.match(sealed[:LINE_BYTES_MAX])
    if line is None:
        raise SealError("unsealed", "the order has no seal of a front")
    _check_size(len(sealed) - line.end())
    order, identity = sealed[line.end() :], line[2].decode()
    front = next((name for name, (key, _) in keys.items() if _identify(key) == identity), None)
    if front is None:
        raise SealError("unknown_key", f"no front with the key {identity} is served here")
    public, owners = keys[front]
    sealed_protocol = int(line[1])
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(
            bytes.fromhex(line[3].decode()), _signed(sealed_protocol, order)
        )
    except InvalidSignature:
        raise SealError("changed", f"the order differs from what {front} sealed") from None
    if sealed_protocol != protocol:
        raise SealError(
            "protocol", f"the order has protocol {sealed_protocol}, this worker {protocol}"
        )
    try:
        opened = read(order)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise SealError("unreadable", f"not an order, sealed by {front}: {error}") from error
    if not {opened.owner, ANY_OWNER} & owners:
        raise SealError("owner", f"{front} may not send orders for {opened.owner!r}")
    _check_time(opened, now_s)
    return opened


def _check_time(order: Order, now_s: float) -> None:
    if not order.not_after < math.inf:  # not a number, too
        raise SealError("expired", "the order has no expiry time")
    if now_s > order.not_after:
        late_s = now_s - order.not_after
        raise SealError("expired", f"the order arrived {late_s:.0f} s after it expired")


def _check_size(size: int) -> None:
    if size > ORDER_BYTES_MAX:
        raise SealError(
            "size", f"the order has {size} bytes; the limit is {ORDER_BYTES_MAX >> 20} MiB"
        )


def _signed(protocol: int, order: bytes) -> bytes:
    # A signature for another purpose, or of another protocol, does not verify here.
    return b"context-mode-order %d\n%s" % (protocol, order)


# The list is TOML, a table for each front. `owners` are those it may send for, `*` for all.
#
#     [fronts.office]
#     key = "base64 of the public key's 32 bytes"
#     owners = ["alice", "ci"]

FILE_BYTES_MAX: Final = 1 << 20

_ROW = {"key", "owners"}
_MAKE_LIST = "List each front as [fronts.NAME] with key and owners."


class KeyFileError(ClusterError):
    """A file of keys that cannot be used; `hint` says how to fix it."""

    def __init__(self, path: Path, message: str, hint: str = "") -> None:
        super().__init__(f"{path}: {message}", hint)


def make_key(path: Path) -> str:
    """Make a front's key in a new file of mode 0600, with its folder; return its public key in the
    form of a list.

    Raises:
        KeyFileError: the file is there already, or cannot be written.
    """
    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(os.open(path, flags, 0o600), "wb") as file:
            file.write(pem)
    except OSError as error:
        raise KeyFileError(path, error.strerror or str(error)) from error
    return write_public(key)


def have_key(path: Path) -> Ed25519PrivateKey:
    """Return a front's key, made if there is none yet.

    Raises:
        KeyFileError: it cannot be used, or made.
    """
    if not path.exists():
        try:
            make_key(path)
        except KeyFileError:
            if not path.exists():  # if another front has made it at the same time
                raise
    return load_key(path)


def write_public(key: Ed25519PrivateKey) -> str:
    """Return the public key of a front in the form of a worker's list."""
    return base64.b64encode(key.public_key().public_bytes_raw()).decode()


def load_key(path: Path) -> Ed25519PrivateKey:
    """Read a front's key from its file: PEM, PKCS #8, without a password.

    Raises:
        KeyFileError: others may read or write the file, it is another user's, or it has no such
            key.
    """
    pem = _read(path, others_may=0)
    try:
        key = serialization.load_pem_private_key(pem, None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise KeyFileError(path, "it has no PEM key without a password") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise KeyFileError(path, "its key is not an Ed25519 key")
    return key


def load_served_keys(path: Path) -> ServedKeys:
    """Read the keys that a worker serves from its list.

    Raises:
        KeyFileError: others may write the file, it is another user's, or it has another form.
    """
    try:
        data = tomllib.loads(_read(path, others_may=stat.S_IRGRP | stat.S_IROTH).decode())
    except (ValueError, RecursionError) as error:
        raise KeyFileError(path, f"invalid TOML: {error}", _MAKE_LIST) from error
    fronts = data.pop("fronts", None)
    if data or not isinstance(fronts, dict) or not fronts:
        raise KeyFileError(path, "it has entries other than [fronts.NAME]", _MAKE_LIST)
    keys = {name: _read_row(path, name, row) for name, row in fronts.items()}
    if len({public for public, _ in keys.values()}) < len(keys):
        raise KeyFileError(path, "two fronts have the same key", "Make a key for each front.")
    return keys


def _read_row(path: Path, name: str, row: object) -> tuple[bytes, frozenset[str]]:
    where = f"[fronts.{name}]"
    if not isinstance(row, dict) or row.keys() != _ROW:
        raise KeyFileError(path, f"{where} must have key and owners, and nothing else", _MAKE_LIST)
    key, owners = row["key"], row["owners"]
    if not isinstance(owners, list) or not all(isinstance(one, str) and one for one in owners):
        raise KeyFileError(path, f"owners of {where} must be a list of names", _MAKE_LIST)
    try:
        public = base64.b64decode(key, validate=True)
    except (TypeError, ValueError):
        public = b""
    if len(public) != 32:
        raise KeyFileError(path, f"key of {where} must be 32 bytes in base64", _MAKE_LIST)
    return public, frozenset(owners)


def _read(path: Path, others_may: int) -> bytes:
    """Read a file of this user or of root to which others have no more rights than these."""
    try:
        with open_plain(path) as file:
            found = os.fstat(file.fileno())
            rights = stat.S_IMODE(found.st_mode)
            data = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise KeyFileError(path, error.strerror or str(error)) from error
    if found.st_uid not in (0, os.geteuid()):
        raise KeyFileError(path, "it belongs to another user", f"chown {os.geteuid()} {path}")
    if rights & 0o077 & ~others_may:
        what = "write" if others_may else "read or write"
        mode = "go-w" if others_may else "600"
        raise KeyFileError(
            path, f"others may {what} it (mode {rights:04o})", f"chmod {mode} {path}"
        )
    if len(data) > FILE_BYTES_MAX:
        raise KeyFileError(path, f"it is larger than {FILE_BYTES_MAX >> 10} KiB")
    return data
