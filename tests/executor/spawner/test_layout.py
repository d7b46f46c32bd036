"""The spawner and the cells' supervisors: they load nothing late, and never end without a word."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import executor.spawner

SOURCES = sorted(Path(executor.spawner.__file__).parent.glob("*.py"))
# In a process of its own, as a spawner's fork is: a cell whose supervisor fails with this error.
FAILING = """
import json, os, socket, sys
from executor.spawner import cell

def supervise(control, namespaces):
    {body}

cell.supervise = supervise
ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
if os.fork() == 0:
    ours.close()
    cell._be_cell(socket.socket(), theirs, {namespaces})
theirs.close()
print(ours.recv(4096).decode())
os.wait()
"""
ERRORS = {
    "LookupError('unknown encoding')": "LookupError: unknown encoding (<string>, line 6)",
    "AssertionError": "AssertionError:  (<string>, line 6)",
    "SystemExit(1)": "SystemExit: 1 (<string>, line 6)",
    "RecursionError('too deep')": "RecursionError: too deep (<string>, line 6)",
    "OSError(28, 'No space left on device')": "[Errno 28] No space left on device",
    "cell.StepError('mount: refused')": "mount: refused",
}


def _last_words(body: str, *, namespaces: bool = True) -> str:
    program = FAILING.format(body=body, namespaces=namespaces)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, timeout=60, check=True
    )
    return str(json.loads(done.stdout)["error"])


@pytest.mark.parametrize(("error", "told"), ERRORS.items(), ids=[e.split("(")[0] for e in ERRORS])
def test_a_supervisor_that_fails_says_why(error: str, told: str):
    assert _last_words(f"raise {error}") == told


def test_a_failing_supervisor_leaves_no_process_where_no_namespace_ends_with_it(tmp_path: Path):
    left = tmp_path / "pid"
    body = f"""
    from executor.spawner.kernel import PR_SET_CHILD_SUBREAPER, prctl
    prctl("subreaper", PR_SET_CHILD_SUBREAPER, 1)
    pid = os.fork()
    if pid == 0:
        import time
        time.sleep(600)
    open({str(left)!r}, "w").write(str(pid))
    raise LookupError("for a reason")
    """
    assert "for a reason" in _last_words(body, namespaces=False)
    assert not Path(f"/proc/{left.read_text()}").exists()


def test_what_can_be_loaded_late_is_not_loaded_from_a_cells_files():
    """There lies, by the same path, whatever a program of the cell has put there."""
    program = """
import os, socket, sys
from executor.spawner import cell
ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
ours.send(b"[[], null]")
ours.shutdown(socket.SHUT_WR)
cell.serve(theirs.detach())
try:
    open("/proc/self/stat", encoding="iso8859-7")
except LookupError:
    print("refused")
"""
    control = "open('/proc/self/stat', encoding='iso8859-7'); print('loaded')"
    for text, printed in ((program, "refused"), (control, "loaded")):
        done = subprocess.run(
            [sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=True
        )
        assert done.stdout.strip() == printed, done.stderr


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_nothing_is_loaded_when_a_cell_is_at_work(source: Path):
    """No import in a function, and no text but in UTF-8: other encodings are modules."""
    tree = ast.parse(source.read_text())
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
    late = [n for f in functions for n in ast.walk(f) if isinstance(n, ast.Import | ast.ImportFrom)]
    assert not late
    named = [n.value for n in ast.walk(tree) if isinstance(n, ast.keyword) and n.arg == "encoding"]
    assert {ast.literal_eval(value) for value in named} <= {"utf-8"}
