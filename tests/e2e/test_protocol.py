"""The protocol over a pipe, message by message, in every revision."""

import json
import subprocess
from contextlib import contextmanager

import pytest
from mcp_types import methods

from ctxmode.mcp.protocol import (
    CAPABILITIES_KEY,
    HANDSHAKE_REVISIONS,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    RESOURCE_NOT_FOUND,
    REVISION_KEY,
    STATELESS_REVISIONS,
    UNSUPPORTED_REVISION,
)
from tests.processes import DEADLINE_S

STATELESS = STATELESS_REVISIONS[-1]
ENVELOPE = {REVISION_KEY: STATELESS, CAPABILITIES_KEY: {}}
LIST = {"language": "shell", "code": "ls"}
PROGRAM = {"name": "ctx_execute", "arguments": {"language": "shell", "code": "echo hi"}}


class Pipe:
    """A client that sends what it is given."""

    def __init__(self, process):
        self._process = process
        self._last = 0

    def send(self, method, params=None, **fields):
        self._write({"method": method, "params": params or {}} | fields)

    def refuse(self, request_id):
        self._write({"id": request_id, "error": {"code": -1, "message": "no"}})

    def answer(self, request_id, result):
        self._write({"id": request_id, "result": result})

    def _write(self, message):
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0"} | message).encode() + b"\n")
        self._process.stdin.flush()

    def receive(self):
        return json.loads(self._process.stdout.readline())

    def ask(self, method, params=None):
        self._last += 1
        self.send(method, params, id=self._last)
        answer = self.receive()
        assert answer["id"] == self._last, answer
        return answer

    def shake_hands(self, revision=HANDSHAKE_REVISIONS[-1], **capabilities):
        hello = {"protocolVersion": revision, "capabilities": capabilities}
        return self.ask("initialize", hello | {"clientInfo": {"name": "test", "version": "1"}})


@pytest.fixture
def pipe(place):
    with opened(place) as client:
        yield client


@contextmanager
def opened(place, cwd=None, **environment):
    with subprocess.Popen(
        [*place.command, "serve"], cwd=cwd or place.project, env=place.environment | environment,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as process:  # fmt: skip
        yield Pipe(process)
        process.stdin.close()
        assert process.wait(DEADLINE_S) == 0


ASKED = (
    ("tools/list", {}),
    ("prompts/list", {}),
    ("resources/templates/list", {}),
    ("tools/call", PROGRAM),
    ("tools/call", {"name": "ctx_execute", "arguments": {}}),
    ("resources/list", {}),
)


@pytest.mark.parametrize("revision", HANDSHAKE_REVISIONS)
def test_each_revision_with_a_handshake_is_answered_in_its_own_form(pipe, revision):
    hello = pipe.shake_hands(revision)["result"]
    assert hello["protocolVersion"] == revision
    judge("initialize", revision, hello)
    judge("ping", revision, pipe.ask("ping")["result"])
    for method, params in ASKED:
        judge(method, revision, pipe.ask(method, params)["result"])


def test_a_revision_without_one_is_answered_in_its_own_form(pipe):
    for method, params in (("server/discover", {}), *ASKED):
        result = pipe.ask(method, params | {"_meta": ENVELOPE})["result"]
        judge(method, STATELESS, result)


def judge(method, revision, result):
    """The library's models of a revision know every field, and miss none."""
    methods.validate_server_result(method, revision, result)
    known = methods.serialize_server_result(method, revision, result)
    assert known == without_what_is_newer(result, known)


def without_what_is_newer(result, known):
    """Fields that the oldest revisions do not have may be sent: their clients pass over them."""
    if isinstance(result, dict) and isinstance(known, dict):
        return {k: without_what_is_newer(v, known[k]) for k, v in result.items() if k in known}
    if isinstance(result, list) and isinstance(known, list):
        return [without_what_is_newer(*pair) for pair in zip(result, known, strict=True)]
    return result


def test_a_handshake_is_taken_after_a_discovery_and_the_other_way_round(pipe):
    assert "result" in pipe.ask("server/discover", {"_meta": ENVELOPE})
    assert "result" in pipe.shake_hands()
    assert "resultType" not in pipe.ask("tools/list")["result"]
    assert pipe.ask("tools/list", {"_meta": ENVELOPE})["result"]["resultType"] == "complete"


REFUSED = (
    ("nothing/known", {}, METHOD_NOT_FOUND, "not found"),
    ("completion/complete", {}, METHOD_NOT_FOUND, "not found"),
    ("tools/call", {"name": "ctx_nothing"}, INVALID_PARAMS, "Tools: ctx_execute"),
    ("tools/call", {}, INVALID_PARAMS, "params.name must be a string"),
    ("tools/call", PROGRAM | {"arguments": [1]}, INVALID_PARAMS, "must be an object"),
    ("resources/read", {}, INVALID_PARAMS, "params.uri must be a string"),
    ("server/discover", {}, INVALID_PARAMS, "protocolVersion"),
    ("server/discover", {"_meta": {REVISION_KEY: STATELESS}}, INVALID_PARAMS, "Capabilities"),
    ("tools/list", {"_meta": ENVELOPE | {REVISION_KEY: 1}}, INVALID_PARAMS, "must be a string"),
    ("tools/list", {"_meta": ENVELOPE | {REVISION_KEY: "2030-01-01"}}, UNSUPPORTED_REVISION, ""),
    ("ping", {"_meta": ENVELOPE}, METHOD_NOT_FOUND, "not found"),
    ("logging/setLevel", {"level": "loud"}, INVALID_PARAMS, "debug, info"),
    ("initialize", {}, INVALID_PARAMS, "clientInfo"),
)


def test_a_request_that_is_wrong_is_refused_in_words_and_the_next_one_served(pipe):
    assert pipe.ask("tools/list")["error"]["code"] == INVALID_REQUEST  # before any handshake
    pipe.shake_hands()
    for method, params, code, words in REFUSED:
        error = pipe.ask(method, params)["error"]
        assert (error["code"], words in error["message"]) == (code, True), error
    assert "result" in pipe.ask("tools/call", PROGRAM)


@pytest.mark.parametrize(
    ("meta", "code"), [({}, RESOURCE_NOT_FOUND), ({"_meta": ENVELOPE}, INVALID_PARAMS)]
)
def test_a_resource_that_is_not_there_is_named(pipe, meta, code):
    pipe.shake_hands()
    error = pipe.ask("resources/read", {"uri": "context-mode://output/out-nothing"} | meta)["error"]
    assert (error["code"], error["data"]) == (code, {"uri": "context-mode://output/out-nothing"})


def test_a_cancelled_call_gets_no_answer_and_frees_its_id(pipe):
    pipe.shake_hands()
    long = {"name": "ctx_execute", "arguments": {"language": "shell", "code": "sleep 600"}}
    pipe.send("tools/call", long, id="long")
    pipe.send("tools/call", long, id="long")
    assert pipe.receive()["error"]["code"] == INVALID_REQUEST  # it is under way
    pipe.send("notifications/cancelled", {"requestId": "long"})
    assert "result" in pipe.ask("tools/call", PROGRAM)
    pipe.send("tools/call", PROGRAM, id="long")
    assert "result" in pipe.receive()


def test_the_first_requests_are_answered_in_their_order(pipe):
    for number in range(20):
        pipe.send("tools/list", {"_meta": ENVELOPE}, id=number)
    assert [pipe.receive()["id"] for _ in range(20)] == list(range(20))


def test_a_client_that_refuses_to_name_its_folders_is_served_in_ours(place):
    with opened(place, CONTEXT_MODE_PROJECT_DIR="") as pipe:
        pipe.shake_hands(roots={})
        pipe.send("tools/call", {"name": "ctx_execute", "arguments": LIST}, id=9)
        asked = pipe.receive()
        assert asked["method"] == "roots/list"
        pipe.refuse(asked["id"])
        assert "app.log" in pipe.receive()["result"]["content"][0]["text"]


@pytest.mark.parametrize("where", ["/", "home", "above home"])
def test_a_server_that_is_started_outside_a_project_says_at_once_how_to_name_one(place, where):
    cwd = {"/": "/", "home": place.home, "above home": place.home.parent}[where]
    with opened(place, cwd, CONTEXT_MODE_PROJECT_DIR="") as pipe:
        pipe.shake_hands()
        for _ in range(2):
            result = pipe.ask("tools/call", PROGRAM)["result"]
            assert result["isError"]
            said = result["content"][0]["text"]
            assert said.startswith(f"{cwd} cannot be the project: ")
            assert "--project DIR" in said


@pytest.mark.parametrize("named_by", ["CLAUDE_PROJECT_DIR", "roots", "CONTEXT_MODE_PROJECT_DIR"])
def test_a_server_that_is_started_in_the_topmost_folder_works_in_the_named_project(place, named_by):
    environment = {"CONTEXT_MODE_PROJECT_DIR": "", "CLAUDE_PROJECT_DIR": "/gone"}
    if named_by != "roots":
        environment[named_by] = str(place.project)
    with opened(place, "/", **environment) as pipe:
        pipe.shake_hands(**({"roots": {}} if named_by == "roots" else {}))
        pipe.send("tools/call", {"name": "ctx_execute", "arguments": LIST}, id=9)
        if named_by == "roots":
            pipe.answer(pipe.receive()["id"], {"roots": [{"uri": place.project.as_uri()}]})
        assert "app.log" in pipe.receive()["result"]["content"][0]["text"]
