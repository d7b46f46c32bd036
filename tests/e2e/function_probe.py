"""A probe: runs one command line of the program, and writes which functions of the house it passed.

`python function_probe.py OUT CALLS ARGUMENTS…`: `OUT` gets a JSON list of the whole use. If `CALLS`
lists tool calls, the command is a server that is asked for each, and `OUT` gets a list a call.
"""

from __future__ import annotations

import _thread
import json
import os
import sys
import threading
from pathlib import Path
from types import CodeType, FrameType

HOUSE = f"{Path(__file__).parents[2]}/"
OPTIMIZED = 1  # a function's code has this flag, a module's and a class's own has not
_seen: dict[int, CodeType] = {}


def note(frame: FrameType, event: str, _: object) -> None:
    """Note a function that is entered; each is kept, so that its id stays its own."""
    if event == "call":
        _seen[id(frame.f_code)] = frame.f_code


def list_passed() -> list[str]:
    """Return the functions of the house that were entered, each as `file:name`."""
    codes = [code for code in list(_seen.values()) if code.co_flags & OPTIMIZED]
    own = [code for code in codes if code.co_filename.startswith(HOUSE)]
    return sorted(
        f"{code.co_filename.removeprefix(HOUSE)}:{code.co_qualname}"
        for code in own
        if "/.venv/" not in code.co_filename and not code.co_name.startswith("<")
    )


def ask(requests: int, answers: int, calls: list[tuple[str, object]], out: str) -> None:
    """Ask the server for each call, and write which functions it passed until each answer."""
    passed = []
    with os.fdopen(requests, "w", buffering=1) as server, os.fdopen(answers) as said:

        def send(method: str, params: object, number: int) -> dict[str, object]:
            request = {"jsonrpc": "2.0", "method": method, "params": params, "id": number}
            server.write(json.dumps(request) + "\n")
            while (answer := json.loads(said.readline())).get("id") != number:
                pass
            return answer["result"]

        client = {"clientInfo": {"name": "probe", "version": "1"}, "capabilities": {}}
        send("initialize", client | {"protocolVersion": "2025-06-18"}, 0)
        for number, (tool, arguments) in enumerate(calls, 1):
            _seen.clear()
            answer = send("tools/call", {"name": tool, "arguments": arguments}, number)
            passed.append(list_passed())
            assert not answer.get("isError"), answer
        Path(out).write_text(json.dumps(passed))


def main(out: str, calls: str, *arguments: str) -> int:
    """Run the command line under the profile hook."""
    asked = json.loads(calls)
    if asked:
        (its_input, requests), (answers, its_output) = os.pipe(), os.pipe()
        os.dup2(its_input, 0)
        os.dup2(its_output, 1)
        _thread.start_new_thread(ask, (requests, answers, asked, out))  # has no hook
    from ctxmode import cli

    threading.setprofile(note)
    sys.setprofile(note)
    code = cli.main(arguments)
    sys.setprofile(None)
    if not asked:
        Path(out).write_text(json.dumps([list_passed()]))
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
