"""Orders and outcomes survive their forms; what is no form is refused, and nothing else happens."""

from __future__ import annotations

import json
import tracemalloc
from dataclasses import replace

import pytest
from hypothesis import given

from base.wording import Remedy
from executor.model import Artifact, ChangedFile, Limits, Refusal, Request, Result, Status
from executor.network import Allowlist
from executor.project.store.manifest import Change
from executor.project.view.tree import EntryState
from executor.request import ANALYZE, BUILD, Profile, ProjectAccess
from fleet import model
from fleet.model import (
    BYTES_MAX,
    CONTAINERS_MAX,
    NESTING_MAX,
    PROTOCOL,
    Cause,
    FormError,
    Lost,
    Order,
    Outcome,
)
from fleet.tree import digest_of
from policy.model import DEFAULT_RULES, Decision, Rule, Rules, RuleSource
from tests.executor.test_model import requests, results

ROOT = digest_of(b"root")
RULE = Rule(
    id="own.1",
    kind="read",
    text="Read(secret/**)",
    spec="/secret/**",
    decision=Decision.DENY,
    source=RuleSource("policy.toml", 3),
    anchor="/home/me/project",
)
ORDER = Order(
    run_id="run-0001",
    owner="me",
    request=Request("shell", "true", files={"a": b"\0\xff"}, stdin=b"", args=("\udcff",)),
    root=ROOT,
    rules=Rules((RULE, *DEFAULT_RULES)),
    profile=ANALYZE,
    limits=Limits(),
    project="/home/me/project",
    not_after=1.8e9,
    verdict={"decision": "ask", "consent": True, "matches": []},
)
OUTCOME = Outcome(
    run_id="run-0001",
    worker="worker-1",
    result=Result(
        Status.OK,
        exit_code=0,
        artifacts=(Artifact("out/a.png", 3, "a.png"), Artifact("b", reason="none")),
        changed_files=(ChangedFile("src/a", "modified", 3), ChangedFile("b", "renamed", 1, "c")),
        refusals=(Refusal("limit", "memory", "cgroup", "exact", remedy=Remedy("set it", "set x")),),
    ),
    changed=(
        Change("a", "created", "folder", 0o755, 0, 1),
        Change("a/\udcff", "created", "file", 0o644, 3, 1, source="c", group=1, sha256=ROOT.hash),
        Change("b", "modified", "link", 0o777, 0, 1, target="a"),
        Change("d", "deleted", "file", 0o644, 5, 1),
    ),
)
FILE = OUTCOME.changed[1]


def test_a_loss_survives_its_form():
    lost = Lost("run-0001", Cause.WORKER, "no answer", "worker-1")
    assert model.decode(Lost, model.encode(lost)) == lost


def test_an_order_and_an_outcome_survive_their_forms():
    assert model.decode(Order, model.encode(ORDER)) == ORDER
    assert model.decode(Outcome, model.encode(OUTCOME)) == OUTCOME


def test_equal_orders_have_equal_bytes():
    other = replace(ORDER, verdict=dict(reversed((ORDER.verdict or {}).items())))
    assert (
        model.encode(other)
        == model.encode(ORDER)
        == model.encode(model.decode(Order, model.encode(ORDER)))
    )


@given(requests)
def test_every_request_has_the_form_of_its_json(request: Request):
    form = model.encode(request)
    assert model.decode(Request, form) == Request.from_json(json.loads(form)) == request


@given(results)
def test_every_result_has_the_form_of_its_json(result: Result):
    form = model.encode(result)
    assert model.decode(Result, form) == Result.from_json(json.loads(form)) == result


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"run_id": "../../x1"}, "invalid run ID"),
        ({"owner": ""}, "owner"),
        ({"owner": "a\nb"}, "owner"),
        ({"project": "relative"}, "absolute"),
        ({"protocol": PROTOCOL + 1}, "protocol"),
        ({"profile": BUILD}, "'build'"),
        ({"request": Request("shell", "true", session="s")}, "session"),
        ({"request": Request("shell", "true", interactive=True)}, "interactive"),
        ({"request": Request("shell", path="/etc/x.sh")}, "relative"),
        ({"request": Request("shell", path="../x.sh")}, "project"),
        ({"request": Request("shell", path="../../x.sh", cwd="src")}, "project"),
        ({"request": Request("shell", "true", cwd="..")}, "project"),
        ({"request": Request("shell", "true", cwd="/home/me/project")}, "relative"),
        ({"request": Request("shell", "true", bind_file="a/../../b")}, "project"),
        ({"request": Request("shell", "true", bind_file="a\0b")}, "project"),
        ({"profile": replace(ANALYZE, network=Allowlist(loopback_ports=(80,)))}, "network"),
        ({"profile": replace(ANALYZE, read=("/opt/data",))}, "outside"),
        ({"profile": replace(ANALYZE, sockets=("dev.sock",))}, "sockets"),
        ({"profile": Profile("analyze", ProjectAccess.LIVE)}, "itself"),
    ],
)
def test_what_no_other_machine_can_run_is_no_order(change: dict[str, object], says: str):
    with pytest.raises(FormError, match=says):
        replace(ORDER, **change)


def test_a_path_may_go_up_within_the_project():
    request = Request("shell", path="../x.sh", cwd="src/inner")
    assert replace(ORDER, request=request).request.path == "../x.sh"


@pytest.mark.parametrize(
    "outcome",
    [
        {"worker": ""},
        {"worker": "a\nb"},
        *(
            {"result": replace(OUTCOME.result, artifacts=tuple(Artifact("a", 1, n) for n in names))}
            for names in (("../a",), ("a/b",), ("..",), ("",), ("a", "a"))
        ),
        *(
            {"changed": (FILE, *others)}
            for others in (
                (FILE,),
                (replace(FILE, path="c", sha256="0" * 64),),  # no link to the other
                (replace(FILE, path="c", mode=0o600),),
                (replace(FILE, path=f"{FILE.path}/below"),),
                (Change("a", "deleted", "folder", 0o755, 0, 1),),
                (Change("a", "created", "link", 0o777, 0, 1, target="b"),),
            )
        ),
        *(
            {"result": replace(OUTCOME.result, changed_files=changes)}
            for changes in (
                (ChangedFile("../a", "created"),),
                (ChangedFile("/etc/passwd", "created"),),
                (ChangedFile("a/../../b", "deleted"),),
                (ChangedFile("a\0", "created"),),
                (ChangedFile("", "created"),),
                (ChangedFile("a", "renamed", 1, "../b"),),
            )
        ),
    ],
)
def test_an_outcome_of_names_that_lead_elsewhere_is_none(outcome: dict[str, object]):
    with pytest.raises(FormError):
        replace(OUTCOME, **outcome)


@pytest.mark.parametrize(
    "wrong",
    [
        {"path": path}
        for path in ("", "/a", "../a", "a/../b", "a//b", "a/", "./a", "a\0", "n" * 256, "a/" * 2000)
    ]
    + [
        {"path": "/".join("a" * 140)},
        {"source": "../a"},
        {"source": "a", "group": 0},
        {"mode": 0o4755},
        {"mode": -1},
        {"size": -1},
        {"group": -1},
        {"target": "a"},
        {"sha256": ""},
        {"sha256": "0"},
        {"change": "deleted"},  # with a digest
        {"kind": "folder"},
        {"kind": "link", "sha256": "", "target": "a\0"},
        {"kind": "link", "sha256": "", "target": ""},
        {"kind": "link", "sha256": "", "target": "a" * 4096},
        {"kind": "fifo"},
        {"change": "renamed"},
        {"xattrs": (("user.tag", b"x"),)},
        {"before": EntryState(0o100644, 3, 1, 1, 1)},
        {"before_sha256": ROOT.hash},
    ],
)
def test_what_no_run_can_leave_is_no_change(wrong: dict[str, object]):
    with pytest.raises(FormError):
        replace(OUTCOME, changed=(replace(FILE, **wrong),))


def changed(path: str, value: object) -> bytes:
    """The order's form with one value replaced; `path` is of keys and indices."""
    form = json.loads(model.encode(ORDER))
    *above, last = (int(key) if key.isdigit() else key for key in path.split("."))
    at = form
    for key in above:
        at = at[key]
    at[last] = value
    return json.dumps(form, sort_keys=True, separators=(",", ":")).encode()


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "Expecting value"),
        (b"[]", "Expected `object`"),
        (b"\xff\xfe", "decode"),
        (model.encode(ORDER).decode().encode("utf-16"), "decode"),
        (model.encode(ORDER)[:-1], "delimiter"),
        (model.encode(ORDER)[:100], "delimiter"),
        (model.encode(ORDER).replace(b'"owner"', b'"owner":"you","owner"'), "twice"),
        (model.encode(ORDER).replace(b'"owner":"me",', b""), "`owner`"),
        (model.encode(ORDER).replace(b'"protocol":%d,' % PROTOCOL, b""), "missing"),
        (model.encode(ORDER).replace(b",", b", "), "missing or twice"),
        (b'{"not_after":' + b"9" * 5000 + b"}", "limit"),
        (b" " * (BYTES_MAX + 1), "the limit"),
        (b"[" * 10_000_000, "over"),
        (b"[" * (NESTING_MAX + 1) + b"]" * (NESTING_MAX + 1), "deeper"),
        (b"[[]" + b",[]" * CONTAINERS_MAX + b"]", "over"),
        (b'"' + b'\\"' * 2_000_000, "Unterminated"),
        (changed("protocol", PROTOCOL + 1), f"protocol {PROTOCOL + 1}"),
        (changed("protocol", True), "protocol"),
        (changed("protocol", {}), "protocol"),
        (changed("strange", 1), "is unknown"),
        (changed("not_after", float("inf")), "Out of range"),
        (changed("not_after", float("nan")), "Out of range"),
        (changed("verdict", {"a": float("nan")}), "Out of range"),
        (changed("not_after", 5), "missing or twice"),
        (changed("not_after", "soon"), "`float`.*not_after"),
        (changed("request", []), "`object`.*request"),
        (changed("request.language", 1), "`str`.*request.language"),
        (changed("request.background", 1), "`bool`.*request.background"),
        (changed("request.args", ["a", 1]), r"`str`.*request.args\[1\]"),
        (changed("request.args", {}), "`array`.*request.args"),
        (changed("request.env", []), "`object`.*request.env"),
        (changed("request.env", {"a": 1}), "`str`.*request.env"),
        (changed("request.files", {"a": "*"}), "base64.*request.files"),
        (changed("request.stdin", "\u00e4"), "base64.*request.stdin"),
        (changed("request.stdin", "YR=="), "missing or twice"),
        (changed("request.code", "\ud800"), "surrogates not allowed"),
        (changed("request.env", {"\ud800": ""}), "surrogates not allowed"),
        (changed("limits.wall_s", -1), "limit wall_s.*limits"),
        (changed("limits.processes", 1.5), "`int`.*limits.processes"),
        (changed("limits.processes", 2**63), "too large"),
        (changed("root.hash", "../x"), "digest.*root"),
        (changed("root.size_bytes", -1), "size.*root"),
        (changed("profile.project", "nonsense"), "enum.*profile.project"),
        (changed("rules.0.0.1", "nonsense"), "enum.*rules"),
        (changed("rules.0.0.4", 4), "enum.*rules"),
        (changed("rules.0.0.4", True), "`int`.*rules"),
        (changed("rules.0.0.5", None), "`array`.*rules"),
        (changed("verdict", {"a": {"b": [{"c": "\ud800"}]}}), "surrogates not allowed"),
        (changed("verdict", {"a": 10**30}), "too large"),
    ],
)
def test_what_is_no_order_is_refused_and_says_where(data: bytes, says: str):
    with pytest.raises(FormError, match=says):
        model.decode(Order, data)


def test_a_number_too_large_for_a_float_is_refused():
    data = model.encode(ORDER).replace(b'"not_after":1800000000.0', b'"not_after":1e999')
    with pytest.raises(FormError, match="Out of range"):
        model.decode(Order, data)


def test_an_order_that_is_too_large_is_not_written():
    request = Request("shell", "true", stdin=bytes(BYTES_MAX))
    with pytest.raises(FormError, match="MiB"):
        model.encode(replace(ORDER, request=request))


def test_a_hostile_form_is_refused_before_it_takes_memory():
    data = b'{"a":[' + b"[]," * 5_000_000 + b"[]]}"
    tracemalloc.start()
    with pytest.raises(FormError):
        model.decode(Order, data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * len(data) + 1_000_000
