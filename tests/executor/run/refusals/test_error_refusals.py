"""What errors say is held against what the box showed: what a program did itself is no refusal."""

from __future__ import annotations

from dataclasses import replace

import pytest

from executor.run.refusals.error_refusals import (
    CANDIDATES_MAX,
    HOST_PATHS_MAX,
    LINE_CHARACTERS_MAX,
    LINES_MAX,
    Shown,
    find_errors,
    of_errors,
)

HOST = {
    "/etc",
    "/srv/sub",
    "/etc/fstab",
    "/root/.config/gh/hosts.yml",
    "/root/.ssh/id_rsa",
    "/srv/data.csv",
}
SHOWN = Shown(
    project="/project",
    cwd="/project/sub",
    home="/home/sandbox",
    scratch="/tmp",
    job="/job",
    is_writable=True,
    visible=("/usr", "/etc/ssl", "/root/.cargo"),
    limits_memory=False,
    host_home="/root",
    host_has=lambda path: path in HOST or path.startswith("/many/"),
    find_secrets=lambda: frozenset((".env", "sub/key.pem", "private")),
    denies=lambda path: ".ssh" in path,
)
READ_ONLY = replace(SHOWN, is_writable=False)


def judge(text: str, shown: Shown = SHOWN) -> list[tuple[str, str, str]]:
    found = (one for _, one in of_errors(text, shown))
    return [(one.kind, one.target, one.certainty) for one in found]


SAID = {
    "cat": ("cat: /etc/fstab: No such file or directory", ("read", "/etc/fstab", "inferred")),
    "python": (
        "FileNotFoundError: [Errno 2] No such file or directory: '/srv/data.csv'",
        ("read", "/srv/data.csv", "inferred"),
    ),
    "node": (
        "Error: ENOENT: no such file or directory, open '/srv/data.csv'",
        ("read", "/srv/data.csv", "inferred"),
    ),
    "go": ("open /srv/data.csv: no such file or directory", ("read", "/srv/data.csv", "inferred")),
    "rust": (
        'thread panicked: Os { code: 2, kind: NotFound, message: "No such file or directory" }',
        None,
    ),
    "java": (
        "java.nio.file.NoSuchFileException: /srv/data.csv",
        ("read", "/srv/data.csv", "inferred"),
    ),
    "a home": (
        "open: /home/sandbox/.config/gh/hosts.yml: No such file or directory",
        ("read", "~/.config/gh/hosts.yml", "inferred"),
    ),
    "a secret beside": ("cat: key.pem: Permission denied", ("read", "sub/key.pem", "told")),
    "a secret above": ("cat: ../.env: Permission denied", ("read", ".env", "told")),
    "in a secret folder": ("cat: /project/private/a/b: EACCES", ("read", "private", "told")),
    "a secret of the host is not confirmed": (
        "cat: /home/sandbox/.ssh/id_rsa: No such file or directory",
        None,
    ),
    "nobody has it": ("cat: /srv/none: No such file or directory", None),
    "a folder that the host has": (
        "sh: 1: cannot create /srv/sub/new: Directory nonexistent",
        ("write", "/srv/sub", "inferred"),
    ),
    "in quotes of a locale": (
        "mkdir: cannot create directory \N{LEFT SINGLE QUOTATION MARK}/srv/sub/a b"
        "\N{RIGHT SINGLE QUOTATION MARK}: No such file or directory",
        ("write", "/srv/sub", "inferred"),
    ),
    "a folder that nobody has": ("touch: cannot touch '/none/x': No such file or directory", None),
    "a folder above what is shown": ("mkdir: /etc/x: No such file or directory", None),
    "another process": (
        "cat: /proc/1/environ: Permission denied",
        ("read", "/proc/1/environ", "inferred"),
    ),
    "the kernel's": ("/proc/sys/vm/x: Permission denied", ("write", "/proc/sys/vm/x", "inferred")),
    "a toolchain's": ("cat: /root/.cargo/x: No such file or directory", None),
    "the system's": ("touch: /usr/x: Read-only file system", ("write", "/usr/x", "inferred")),
    "behind the program": (
        "/job/main.sh: line 1: /opt/x: Permission denied",
        ("write", "/opt/x", "inferred"),
    ),
    "its own": ("cat: /tmp/mine: Permission denied", None),
    "its own in the project": ("cat: /project/sub/mine.txt: Permission denied", None),
    "its own, beside": ("./x.sh: Permission denied", None),
    "a capability": (
        "mknod: x: Operation not permitted",
        ("privilege", "a privileged operation", "inferred"),
    ),
    "a signed commit": (
        "error: gpg failed to sign the data\nfatal: failed to write commit object",
        ("read", "a key to sign with", "inferred"),
    ),
    "no route": ("connect: Network is unreachable", ("network", "the network", "inferred")),
    "files": ("OSError: [Errno 24] Too many open files", ("limit", "open_files", "inferred")),
    "memory that a group counts": ("MemoryError", None),
    "no error at all": ("wrote /etc/fstab and /project/.env", None),
}


@pytest.mark.parametrize(("text", "expected"), SAID.values(), ids=SAID)
def test_what_an_error_says(text, expected):
    assert judge(text) == ([expected] if expected else [])


def test_a_project_that_is_only_read_refuses_writes():
    text = "touch: cannot touch '/project/out.txt': Read-only file system"
    assert judge(text, READ_ONLY) == [("write", "/project/out.txt", "inferred")]
    assert judge(text.replace("/project/", ""), READ_ONLY) == [
        ("write", "/project/sub/out.txt", "inferred")
    ]


def test_without_a_control_group_an_allocation_that_fails_met_the_limit():
    expected = [("limit", "memory_bytes", "inferred")]
    assert judge("MemoryError", replace(SHOWN, limits_memory=True)) == expected


def test_what_has_no_name_is_told_where_nothing_else_of_its_kind_is():
    text = "x: /usr/y: Read-only file system\nRead-only file system\n"
    assert judge(text) == [("write", "/usr/y", "inferred")]


def test_the_host_is_asked_of_few_paths():
    text = "".join(f"cat: /many/{n}: No such file or directory\n" for n in range(99))
    assert len(judge(text)) == HOST_PATHS_MAX


@pytest.mark.parametrize("path", ["/\0/x", "//" * 400, "/../../etc/fstab\udcff", "~/" * 300])
def test_a_hostile_path_is_judged_like_any_other(path):
    assert judge(f"cat: '{path}': No such file or directory") in ([], [("read", "/", "inferred")])


def test_only_so_much_of_an_output_is_looked_at():
    line = "Permission denied " + "'a' " * LINE_CHARACTERS_MAX
    found = list(find_errors(f"{line}\n" * (LINES_MAX + 9)))
    assert len(found) == LINES_MAX
    assert max(len(candidates) for _, candidates, _ in found) <= CANDIDATES_MAX
