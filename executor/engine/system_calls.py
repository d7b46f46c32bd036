"""System calls that exist for programs, and permitted kinds of sockets: instructions and table.

They stand before the instructions of libseccomp, whose filters have one default only. runc puts its
own in the same place (`libcontainer/seccomp/patchbpf`).
"""

import errno
import socket
import struct
import tomllib
from collections.abc import Iterable
from pathlib import Path

_TABLE = tomllib.loads(Path(__file__).with_name("system_calls.toml").read_text("utf-8"))
ALLOWED: str = _TABLE["allowed"]
DENIED: dict[str, str] = _TABLE["denied"]
WITHOUT_NAMESPACES: str = _TABLE["without_namespaces"]
FILE_CALLS: str = _TABLE["file_calls"]
ON_PROCESSES: dict[str, str] = _TABLE["on_processes"]
SIGNALS: dict[str, str] = _TABLE["signals"]
CLONE_NEW_FLAGS: tuple[int, ...] = tuple(_TABLE["clone_flags"].values())
NUMBERS: dict[str, int] = _TABLE["numbers"]
KNOWN = frozenset(" ".join((ALLOWED, _TABLE["judged"], *DENIED.values())).split())
# By family the types and protocols: no UDP-Lite, MPTCP, SCTP, ICMP. Of netlink NETLINK_ROUTE, which
# tells of interfaces: those of the box's own network.
INTERNET = (socket.SOCK_STREAM, socket.SOCK_DGRAM), (0, socket.IPPROTO_TCP, socket.IPPROTO_UDP)
SOCKETS: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = {
    socket.AF_INET: INTERNET,
    socket.AF_INET6: INTERNET,
    socket.AF_NETLINK: ((socket.SOCK_RAW, socket.SOCK_DGRAM), (0,)),
}
SOCK_TYPE_MASK = 0xF
# Classic BPF (linux/filter.h), and where struct seccomp_data has what (linux/seccomp.h). The kernel
# reads the lower half of such arguments, which every architecture that is known here has first.
LOAD, AND, EQUAL, GREATER, AT_LEAST, RETURN = 0x20, 0x54, 0x15, 0x25, 0x35, 0x06
NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16
ERROR = 0x00050000
Step = tuple[int, int, str, str] | str
"""An instruction, its value and where it leads if true or false; or the name of a place."""


def build_guard(architecture: int, numbers: Iterable[int], socket_call: int) -> bytes:
    """Return instructions that refuse calls of other numbers, and sockets other than `SOCKETS`.

    No such call exists (ENOSYS): younger ones, those of x32, and gaps in the table. What is not
    refused, and calls of another architecture, go on to the filter behind them.
    """
    begin: list[Step] = [(LOAD, ARCHITECTURE, "", ""), (EQUAL, architecture, "", "end")]
    steps = [*begin, (LOAD, NUMBER, "", "")]
    ranges: list[tuple[int, int]] = []  # of consecutive numbers, ascending
    for number in sorted(numbers):
        start = ranges.pop()[0] if ranges and ranges[-1][1] == number - 1 else number
        ranges.append((start, number))
    for first, last in ranges:
        above = f"above {last}"
        steps += [(GREATER, last, above, ""), (AT_LEAST, first, "known", "absent"), above]
    steps += ["absent", (RETURN, ERROR | errno.ENOSYS, "", "")]
    steps += ["known", (EQUAL, socket_call, "", "end")]
    for family, (kinds, protocols) in SOCKETS.items():
        other, of_kind = f"other than {family}", f"kind of {family}"
        steps += [(LOAD, ARGUMENTS, "", ""), (EQUAL, family, "", other)]
        steps += [(LOAD, ARGUMENTS + 8, "", ""), (AND, SOCK_TYPE_MASK, "", "")]
        steps += [(EQUAL, kind, of_kind, "") for kind in kinds]
        steps += [(RETURN, ERROR | errno.ESOCKTNOSUPPORT, "", ""), of_kind]
        steps += [(LOAD, ARGUMENTS + 16, "", "")]
        steps += [(EQUAL, protocol, "end", "") for protocol in protocols]
        steps += [(RETURN, ERROR | errno.EPROTONOSUPPORT, "", ""), other]
    places: dict[str, int] = {}
    lines: list[tuple[int, int, str, str]] = []
    for step in [*steps, "end"]:
        if isinstance(step, str):
            places[step] = len(lines)
        else:
            lines.append(step)
    program = b""
    for at, (code, value, *ways) in enumerate(lines, 1):
        if_true, if_false = [places[to] - at if to else 0 for to in ways]
        program += struct.pack("=HBBI", code, if_true, if_false, value & 0xFFFFFFFF)
    return program
