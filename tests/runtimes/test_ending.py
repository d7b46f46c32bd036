"""When a Python that waited has its end shortened: where it cannot be noticed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import runtimes

FOLDER = Path(runtimes.__file__).parent / "languages/python"
# As `wait.py` does it, but for what is told in the end: what was registered first comes last.
RUN = """
import atexit, gc, sys
atexit.register(lambda: print("shortened" if gc.get_freeze_count() else "as ever"))
import ending
ending.arrange(sys.argv[1])
with open(sys.argv[1]) as file:
    source = file.read()
del file
names = {"__name__": "__main__"}
exec(source, names)
"""
SHORTENED = {
    "nothing": "",
    "an answer": "print('answer')",
    "standard modules": "import json, re, collections, csv, datetime, enum, pathlib\n"
    "json.dumps({'a': re.findall('[0-9]', 'a1')})",
    "a class": "class A:\n    def __init__(self): self.itself = self\na = A()",
    "an error": "import sys\nsys.exit(3)",
    "a file that is closed": "with open(__import__('os').devnull) as file:\n    pass\ndel file",
    "a weak reference": "import weakref\nclass A: pass\nreference = weakref.ref(A)",
}
AS_EVER = {
    "a finalizer": "class A:\n    def __del__(self): pass\na = A()",
    "a finalizer without attributes": "class A:\n    __slots__ = ()\n"
    "    def __del__(self): pass\na = A()",
    "an open file": "file = open(__import__('os').devnull)",
    "a generator": "numbers = (n for n in range(3))\nnext(numbers)",
    "a weak reference that calls back": "import weakref\nclass A: pass\na = weakref.ref(A, print)",
    "a weak proxy": "import weakref\nclass A: pass\na = weakref.proxy(A, print)",
    "a database": "import sqlite3",
    "a collection": "import gc\ngc.collect()",
    "many objects": "kept = [[n] for n in range(200_000)]",  # more than any release leaves unmoved
    "a callback of the collector": "import gc\ngc.callbacks.append(print)",
    "a thread": "import threading, time\n"
    "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
    "tracing": "import sys\nsys.settrace(lambda *_: None)",
    "profiling": "import sys\nsys.setprofile(lambda *_: None)",
    "auditing": "import sys\nsys.addaudithook(lambda *_: None)",
    "a module of the project": "import helper",
    "a module in name only": "import sys\nsys.modules['mine'] = object()",
}
PROGRAMS = [(code, "shortened") for code in SHORTENED.values()] + [
    (code, "as ever") for code in AS_EVER.values()
]


@pytest.mark.skipif(
    not (3, 10) <= sys.version_info < (3, 14),
    reason="not applicable: of this version the collector is not known",
)
@pytest.mark.parametrize(("code", "end"), PROGRAMS, ids=[*SHORTENED, *AS_EVER])
def test_an_end_is_shortened_where_no_program_can_tell(code, end, tmp_path):
    program = tmp_path / "main.py"
    program.write_text(code)
    (tmp_path / "helper.py").write_text("")
    environment = {"PYTHONPATH": f"{FOLDER}:{tmp_path}", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-S", "-c", RUN, str(program)],
        env=environment,
        check=False,
        capture_output=True,
        text=True,
    )
    assert end in done.stdout.splitlines(), done.stderr
