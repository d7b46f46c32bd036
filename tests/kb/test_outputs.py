"""Outputs of tools, without a name: which kind they are taken for, and what their chunks are
called."""

from __future__ import annotations

import json
import re
from itertools import pairwise

import pytest

import kb.chunking
from kb.chunkers.record_rows import OWN_MAX, RECORDS
from kb.chunking import chunk_next
from kb.decoding import Plain
from kb.detect import detect

PYTEST = """\
============================= test session starts ==============================
collected 3 items

tests/test_x.py .F.                                                      [100%]

=================================== FAILURES ===================================
____________________________________ test_y ____________________________________

    def test_y():
>       assert waits(2) == [1, 2]
E       assert [1] == [1, 2]

tests/test_x.py:7: AssertionError
=========================== short test summary info ============================
FAILED tests/test_x.py::test_y - assert [1] == [1, 2]
========================= 1 failed, 2 passed in 0.02s ==========================
"""
UNITTEST = f"""\
.F
{"=" * 70}
FAIL: test_y (test_x.WaitTest.test_y)
{"-" * 70}
Traceback (most recent call last):
  File "test_x.py", line 6, in test_y
    self.assertEqual(2, 3)
AssertionError: 2 != 3

{"-" * 70}
Ran 2 tests in 0.001s

FAILED (failures=1)
"""
GO = """\
ok  \texample.org/shop/basket\t0.011s
--- FAIL: TestWait (0.00s)
    wait_test.go:22: got 3
FAIL
FAIL\texample.org/shop/wait\t0.012s
"""
GO_VERBOSE = """\
=== RUN   TestOne
--- PASS: TestOne (0.00s)
=== RUN   TestWait
    wait_test.go:22: got 3
--- FAIL: TestWait (0.00s)
FAIL
"""
CARGO = """\
   Compiling shop v0.1.0 (/src/shop)

running 2 tests
test tests::one ... ok
test tests::wait ... FAILED

failures:

---- tests::wait stdout ----

thread 'tests::wait' panicked at src/lib.rs:118:21:
assertion `left == right` failed

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.22s
"""
JEST = """\
FAIL test/wait.test.js
  wait
    ✓ adds one (3 ms)
    ✕ adds two (4 ms)

  ● wait > adds two

    expect(received).toBe(expected)

Test Suites: 1 failed, 1 total
Tests:       1 failed, 3 passed, 4 total
Time:        0.5 s
"""
MOCHA = """\
  wait
    ✔ adds one
    1) adds two

  1 passing (43ms)
  1 failing

  1) wait
       adds two:
     AssertionError: 3 == 4
"""
TAP = """\
TAP version 13
ok 1 - adds one
not ok 2 - adds two
  ---
  error: 'no two'
  ...
1..2
# tests 2
# pass 1
# fail 1
"""
GCC = """\
src/a.c: In function 'send':
src/a.c:12:5: error: 'x' undeclared (first use in this function)
   12 |     x = 1;
      |     ^
src/a.c:12:5: note: each undeclared identifier is reported only once
src/b.c:3:1: warning: unused variable 'y' [-Wunused-variable]
"""
RUSTC = """\
   Compiling shop v0.1.0 (/src/shop)
error[E0425]: cannot find function `wait` in this scope
 --> src/lib.rs:1:42
  |
1 | pub fn one() { wait() }
  |                ^^^^ not found in this scope

error: could not compile `shop` (lib) due to 1 previous error
"""
MYPY = """\
shop/wait.py:5: error: Incompatible return value type (got "int", expected "str")  [return-value]
shop/wait.py:9: error: Name "wait" is not defined  [name-defined]
Found 2 errors in 1 file (checked 3 source files)
"""
ESLINT = """\

/src/wait.js
  2:5  error    'wait' is assigned a value but never used  no-unused-vars
  4:5  warning  'more' is never reassigned                 prefer-const

✖ 2 problems (1 error, 1 warning)
"""
TSC = """\
src/wait.ts(1,14): error TS2322: Type 'string' is not assignable to type 'number'.
src/wait.ts(3,14): error TS2322: Type 'string' is not assignable to type 'number'.
"""
NPM = """\
npm error code E404
npm error 404 Not Found - GET https://registry.npmjs.org/no-such-package
"""
NPM_INSTALL = """\
npm warn deprecated request@2.88.2: request has been deprecated

added 120 packages, and audited 121 packages in 4s
"""
PIP = """\
Collecting tornado
  Downloading tornado-6.6.1-py3-none-any.whl (440 kB)
Installing collected packages: tornado
Successfully installed tornado-6.6.1
"""
APT = """\
Reading package lists...
Building dependency tree...
The following NEW packages will be installed:
  lmodern
0 upgraded, 5 newly installed, 0 to remove and 132 not upgraded.
Inst lmodern (2.005-1 Debian:12.15/oldstable [all])
"""
HASH = "32995b7ecb84abf4cda4938711ffdaed45b393e0"
GIT_LOG = f"""\
commit {HASH}
Author: Ada <ada@example.org>
Date:   Thu Jan 1 00:00:00 2026 +0000

    Bound the window by its size

    Before, it grew without end.
"""
GIT_ONELINE = "32995b7 Bound the window\n96cd1d8 (tag: v1) Bound the widget\nd2121d0 Begin\n"
STRACE = """\
execve("/usr/bin/ls", ["ls"], 0x7ffd76928088 /* 36 vars */) = 0
access("/etc/ld.so.preload", R_OK)      = -1 ENOENT (No such file or directory)
close(1)                                = 0
+++ exited with 0 +++
"""
DMESG = "[   12.345678] usb 1-1: new device\n[   12.400000] usb 1-1: no more\n"
LS = (
    "total 8\n-rw-r--r-- 1 ada ada 12 Jan  1 10:00 one.txt\n-rw-r--r-- 1 ada ada 9 Jan  1 10:00 b\n"
)
PS = "  PID TTY          TIME CMD\n    1 ?        00:00:01 init\n    7 ?        00:00:00 sh -c x\n"
KUBECTL = "NAME   READY  STATUS   RESTARTS\nweb-1  1/1    Running  0\nweb-2  0/1    Failed   4\n"
DF = "Filesystem 1K-blocks Used Available Use% Mounted on\n/dev/sda1 100 50 50 50% /\n"
DPKG = (
    "Desired=Unknown/Install/Remove/Purge/Hold\n||/ Name    Version  Architecture Description\n"
    "+++-=======-========-============-===========\nii  bash    5.2.15   amd64        A shell\n"
)
CSV = "id,name,mail\n1,ada,ada@example.org\n2,bob,bob@example.org\n"
PANIC = "panic: no more\n\ngoroutine 1 [running]:\nmain.main()\n\t/src/main.go:9 +0x3c\n"
JAVA = 'Exception in thread "main" java.lang.IllegalStateException: no\n\tat a.B.main(B.java:3)\n'
NODE = "/src/a.js:1\nthrow new Error('no')\n^\n\nError: no\n    at f (/src/a.js:1:7)\n    at g\n"
PLAN = """\
Terraform will perform the following actions:

  # aws_instance.web will be created
  + resource "aws_instance" "web" {}

Plan: 1 to add, 0 to change, 0 to destroy.
"""

OUTPUTS = {
    "pytest": (PYTEST, "tests", [
        "FAILED test_y: assert [1] == [1, 2]: tests/test_x.py:7",
        "FAILED tests/test_x.py::test_y - assert [1] == [1, 2]",
        "summary > 1 failed, 2 passed in 0.02s",
    ]),
    "unittest": (UNITTEST, "tests", [
        "FAILED test_y (test_x.WaitTest.test_y): AssertionError: 2 != 3",
        "summary > Ran 2 tests in 0.001s FAILED (failures=1)",
    ]),
    "go test": (GO, "tests", [
        "FAILED TestWait: wait_test.go:22: got 3", "FAILED example.org/shop/wait",
    ]),
    "go test -v": (GO_VERBOSE, "tests", ["FAILED TestWait: wait_test.go:22: got 3"]),
    "cargo test": (CARGO, "tests", [
        "FAILED tests::wait: panicked at src/lib.rs:118:21: assertion `left == right` failed",
        "summary > test result: FAILED. 1 passed; 1 failed;",
    ]),
    "jest": (JEST, "tests", [
        "FAILED wait > adds two: expect(received).toBe(expected)",
        "summary > Test Suites: 1 failed, 1 total Tests: 1 failed, 3 passed, 4 total",
    ]),
    "mocha": (MOCHA, "tests", [
        "FAILED wait adds two: AssertionError: 3 == 4", "summary > 1 passing (43ms) 1 failing",
    ]),
    "TAP": (TAP, "tests", [
        "not ok 2 - adds two: 'no two'", "summary > tests 2 # pass 1 # fail 1",
    ]),
    "gcc": (GCC, "compiler", [
        "src/a.c > error: src/a.c:12:5: 'x' undeclared (first use in this function)",
        "src/b.c > warning: src/b.c:3:1: unused variable",
    ]),
    "rustc": (RUSTC, "compiler", [
        "src/lib.rs > error[E0425]: cannot find function `wait` in this scope (src/lib.rs:1:42)",
        "summary > error: could not compile `shop` (lib) due to 1 previous error",
    ]),
    "mypy": (MYPY, "compiler", [
        "shop/wait.py > error: shop/wait.py:5: Incompatible",
        "summary > Found 2 errors in 1 file",
    ]),
    "eslint": (ESLINT, "compiler", [
        "/src/wait.js: error 'wait' is assigned a value",
        "summary > 2 problems (1 error, 1 warning)",
    ]),
    "tsc": (TSC, "compiler", ["src/wait.ts > error: src/wait.ts(1,14): TS2322"]),
    "npm": (NPM, "packages", ["npm error code E404"]),
    "npm install": (NPM_INSTALL, "packages", [
        "npm warn deprecated request@2.88.2", "summary > added 120 packages",
    ]),
    "pip": (PIP, "packages", ["Collecting tornado", "summary > Successfully installed tornado"]),
    "apt": (APT, "packages", [
        "The following NEW packages", "summary > 0 upgraded, 5 newly installed", "Inst lmodern",
    ]),
    "git log": (GIT_LOG, "commits", ["commit 32995b7: Bound the window by its size"]),
    "git log --oneline": (GIT_ONELINE, "commits", ["commit 32995b7: Bound the window"]),
    "strace": (STRACE, "trace", [
        'ENOENT access("/etc/ld.so.preload"', "summary > exited with 0",
    ]),
    "dmesg": (DMESG, "log", ["12.345678 - 12.400000 usb"]),
    "ls": (LS, "columns", ["rows 1-2: one.txt … b"]),
    "ps": (PS, "columns", ["PID, TTY, TIME, CMD > rows 1-2: init … sh -c x"]),
    "kubectl": (KUBECTL, "columns", ["NAME, READY, STATUS, RESTARTS > rows 1-2: web-1 … web-2"]),
    "df": (DF, "columns", ["row 1: /dev/sda1"]),
    "dpkg": (DPKG, "columns", ["Name, Version, Architecture, Description > row 1: bash"]),
    "csv": (CSV, "csv", ["id, name, mail > rows 1-2: 1 … 2"]),
    "go panic": (PANIC, "stacks", ["goroutine 1 [running]:"]),
    "java": (JAVA, "stacks", ["java.lang.IllegalStateException: no"]),
    "node": (NODE, "stacks", ["Error: no"]),
    "terraform": (PLAN, "plan", [
        "aws_instance.web will be created", "summary > Plan: 1 to add, 0 to change",
    ]),
}  # fmt: skip

LINE_START = re.compile(rb"^(?=.)", re.MULTILINE)


def coloured(data: bytes) -> bytes:
    return LINE_START.sub(b"\x1b[0m\x1b[1;31m", data).replace(b"\n", b"\x1b[0m\n")


def stamped(data: bytes) -> bytes:
    return LINE_START.sub(b"2026-01-01T10:00:00.123Z ", data)


FORMS = {
    "plain": lambda data: data,
    "CRLF": lambda data: data.replace(b"\n", b"\r\n"),
    "coloured": coloured,
    "after progress": lambda data: b"10%\r50%\r100%\r\n" + data,
    "stamped": stamped,
}


def all_titles(data: bytes, kind: str | None = None) -> list[str]:
    return [chunk.title_text for chunk in kb.chunking.chunk(data, kind=kind)]


@pytest.mark.parametrize("name", OUTPUTS)
def test_an_output_is_known_by_its_content(name: str) -> None:
    text, kind, _ = OUTPUTS[name]
    detected = detect(text.encode())
    assert (detected.kind, detected.by) == (kind, "shape")


def forms_of(kind: str) -> list[str]:
    """A table begins with its header, so that nothing stands before it."""
    return [
        form for form in FORMS if kind != "columns" or form not in ("after progress", "stamped")
    ]


@pytest.mark.parametrize(
    ("name", "form"),
    [
        (name, form)
        for name, (_, kind, _) in OUTPUTS.items()
        if kind not in ("csv", "log")
        for form in forms_of(kind)
    ],
)
def test_titles_say_what_happened_in_any_form(name: str, form: str) -> None:
    text, kind, expected = OUTPUTS[name]
    data = FORMS[form](text.encode())
    found = all_titles(data, kind)
    for title in expected:
        assert any(title in f for f in found), (title, found)


@pytest.mark.parametrize("name", ["csv", "dmesg"])
def test_titles_of_tables_and_kernel_logs(name: str) -> None:
    text, kind, expected = OUTPUTS[name]
    assert expected[0] in all_titles(text.encode(), kind)[0]


@pytest.mark.parametrize("form", ["CRLF", "coloured", "stamped"])
@pytest.mark.parametrize("name", ["pytest", "gcc", "go test -v", "cargo test", "git log"])
def test_a_form_does_not_change_the_kind(name: str, form: str) -> None:
    text, kind, _ = OUTPUTS[name]
    assert detect(FORMS[form](text.encode())).kind == kind


@pytest.mark.parametrize(
    "text",
    [
        "Tests\n=====\n\nRun pytest:\n\n    =========== test session starts ===========\n",
        "# Errors\n\nIt prints:\n\n```\na.c:1:2: error: no\na.c:2:2: error: no\n```\n",
        "import os\n\n# a.c:1:2: error: no\n# a.c:2:2: error: no\nx = [\n    1,\n    2,\n]\n",
        "First, we went on, then, later,\nit rained, so we stayed, slept,\nat home, all day.\n",
        "apples\npears\nplums\n",
        "TO DO\n\nWrite to Ada.  Write to Bob.\n",
        "deadbeef is a word\nand so is this one\nand this\n",
        "name = value\nother = value\nthird = value\n",
        "npm is a program. It prints errors.\nMany of them.\n",
    ],
)
def test_prose_and_programs_that_quote_outputs_stay_text(text: str) -> None:
    if text.startswith("Tests\n"):
        text = "Some words about it all.\n" * 40 + text.replace("    =", "  =")
    assert detect(text.encode()).kind == "text"


def test_failures_and_summaries_stand_alone() -> None:
    failure = (
        "____ test_{0} ____\n\n>   assert {0} == 1\nE   assert {0} == 1\n\ntest_a.py:{0}: Error\n"
    )
    data = "".join(failure.format(n) for n in range(2, 6)) + "=== 4 failed in 0.1s ===\n"
    chunks = kb.chunking.chunk(data.encode(), kind="tests").chunks
    assert [chunk.title[-1][:13] for chunk in chunks[:4]] == [
        f"FAILED test_{n}" for n in range(2, 6)
    ]
    assert chunks[-1].text == "=== 4 failed in 0.1s ===\n"
    assert chunks[-1].title == ("summary", "4 failed in 0.1s")


def test_endless_failures_share_chunks() -> None:
    data = b"".join(b"not ok %d - it\n" % n for n in range(4 * OWN_MAX))
    assert len(kb.chunking.chunk(data, kind="tests")) < 2 * OWN_MAX


@pytest.mark.parametrize("kind", ["csv", "columns"])
def test_rows_are_numbered_through_all_parts(kind: str) -> None:
    head = {"csv": "id,name\n", "columns": "ID      NAME\n"}[kind]
    row = {"csv": "{0},name-{0}\n", "columns": "{0:<7} name-{0}\n"}[kind]
    data = (head + "".join(row.format(n) for n in range(1, 2000))).encode()
    cuts = [0, *(data.index(b"\n", at) + 1 for at in (5000, 11_000, 16_000)), len(data)]
    state, last = None, 0
    for start, end in pairwise(cuts):
        part = chunk_next(data[start:end], detect(data, kind=kind), state, base_byte=start)
        state = part.state
        for chunk in part:
            told = re.match(r"rows? (\d+)(?:-(\d+))?:", chunk.title[-1])
            assert told is not None
            assert int(told[1]) == last + 1
            assert chunk.title[0] in ("id, name", "ID, NAME")
            last = int(told[2] or told[1])
    assert last == 1999


def test_a_record_goes_on_in_the_next_part_under_its_title() -> None:
    data = PYTEST.encode()
    cut = data.index(b">       assert")
    first = chunk_next(data[:cut], detect(data), None)
    assert json.loads(first.state or "") == ["FAILED test_y"]
    second = chunk_next(data[cut:], detect(data), first.state, base_byte=cut)
    assert second.chunks[0].title == ("FAILED test_y",)
    assert second.chunks[-1].title[0] == "summary"


def test_places_of_plain_text_are_those_of_the_output() -> None:
    data = b"a\r\n\x1b[1mb\x1b[0m c\r\n10:00:00 d\n\x1b]0;title\x07e\n"
    plain = Plain(data)
    assert plain.text == b"a\nb c\nd\ne\n"
    assert plain.place(plain.text.index(b"\n") + 1) == 3
    for at, byte in enumerate(plain.text):
        assert byte in data[plain.place(at) : plain.place(at + 1) + 1]


@pytest.mark.parametrize("rows", sorted(RECORDS))
@pytest.mark.parametrize(
    "unit",
    [b"_", b"=", b" ", b"- ", b"a:", b"a::b ", b"(", b"x(", b"=== RUN x\n", b"npm error\n",
     b"1:1: ", b"\x1b[", b"\r", b"a.b:1:1", b"  1) a\n     b\n"],
)  # fmt: skip
def test_patterns_take_any_repetition(rows: str, unit: bytes) -> None:
    data = unit * (100_000 // len(unit))
    for mark in RECORDS[rows].marks(data):
        assert 0 <= mark.start < len(data)
    detect(data)
