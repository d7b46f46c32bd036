"""Orders, outcomes and whole deliveries, changed at random by a seed: read or refused, and no more.

No other exception leaves, and no file comes to lie outside of where it belongs.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fleet import model
from fleet.model import Delivery, FormError, Order, Outcome, OutcomeError
from fleet.tree import BlobError
from policy.model import Rules
from tests.fleet.returning import RUN_ID, Ends
from tests.fleet.test_model import ORDER, OUTCOME, RULE
from tests.fleet.test_returned import FILES, TOLD

SEEDS = range(8)
FORMS, DELIVERIES = 2_500, 60  # of each seed,
FORMS_LONG, DELIVERIES_LONG = 12_500, 600  # and with --long 100,000 forms in all
PARTS = [
    b'"',
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b",",
    b"null",
    b"true",
    b"1e9",
    b"-1",
    b"\\ud800",
    b"\0",
]
VALUES: list[Any] = [
    *(None, True, False, 0, -1, 1, 2**63, 1e300, "", "a", "..", "../x", "/x", "\0", "\udcff"),
    *([], {}, [[]], ["a"], {"a": "b"}, "x" * 5000, "0" * 64, "link", "created", "deleted"),
]
PATHS = [
    *("a.txt", "b.txt", "new", "src", "src/x", "src/x/y", "host", "host/x", ".env", ".env/x"),
    *(".git", ".git/config", ".git/hooks/pre-commit", ".envrc", ".vscode/tasks.json", "AGENTS.md"),
    *(
        "..",
        "../x",
        "/tmp/x",
        "",
        "a//b",
        "./a",
        "a\0",
        "\udcff",
        "x" * 255,
        "x" * 256,
        "d/" * 60 + "f",
    ),
    *("d/" * 200 + "f", "target", "target/x", "A.TXT", "src\n", "fifo"),
]
TARGETS = ["", "a.txt", "..", "../../..", "/etc/passwd", "host", "src/x", "new", "\0", "x" * 5000]


def written(form: Any) -> bytes:
    """A form as `fleet.model` writes it."""
    return json.dumps(form, sort_keys=True, separators=(",", ":")).encode()


def mutated(data: bytes, pick: random.Random) -> bytes:
    """Bytes cut out, repeated, put in or exchanged."""
    changed = bytearray(data)
    for _ in range(pick.randint(1, 3)):
        at = pick.randrange(len(changed) + 1)
        to = min(len(changed), at + pick.randrange(40))
        match pick.randrange(4):
            case 0:
                changed[at:to] = b""
            case 1:
                changed[at:at] = changed[at:to]
            case 2:
                changed[at:to] = pick.choice(PARTS)
            case _ if at < len(changed):
                changed[at] = pick.randrange(256)
    return bytes(changed)


def exchange(form: Any, pick: random.Random) -> None:
    """Put another value somewhere into a form."""
    while True:
        keys = list(form) if isinstance(form, dict) else list(range(len(form)))
        if not keys:
            return
        key = pick.choice(keys)
        if isinstance(form[key], dict | list) and form[key] and pick.random() < 0.8:
            form = form[key]
            continue
        form[key] = pick.choice(VALUES)
        return


@pytest.mark.parametrize("seed", SEEDS)
def test_mutated_forms_are_read_or_refused(seed: int, is_long: bool):
    pick = random.Random(seed)
    order = replace(ORDER, rules=Rules((RULE,)))
    whole = {"order": model.encode(order), "outcome": model.encode(OUTCOME)}
    parsed = {kind: json.loads(data) for kind, data in whole.items()}
    read = 0
    for _ in range(FORMS_LONG if is_long else FORMS):
        kind = pick.choice(("order", "outcome"))
        if pick.random() < 0.5:
            data = mutated(whole[kind], pick)
        else:
            form = json.loads(whole[kind])
            exchange(form, pick)
            data = written(form)
        try:
            made = model.decode(Order, data) if kind == "order" else model.decode(Outcome, data)
        except FormError:
            continue
        assert model.encode(made)
        read += 1
    assert read  # some changes are within a text
    assert parsed == {kind: json.loads(data) for kind, data in whole.items()}


def random_change(pick: random.Random, contents: list[bytes]) -> dict[str, Any]:
    """A change that mostly holds in itself, of any path."""
    kind = pick.choice(["file", "file", "file", "folder", "link"])
    change = pick.choice(["created", "created", "modified", "deleted", "mode", "times"])
    content = bytes([pick.randrange(256)]) * pick.choice([0, 1, 100])
    has_content = kind == "file" and change != "deleted"
    if has_content:
        contents.append(content)
    group = pick.choice([0, 0, 0, 1, 2]) if has_content else 0
    made: dict[str, Any] = {
        "path": pick.choice(PATHS),
        "change": change,
        "kind": kind,
        "mode": pick.choice([0o644, 0o755, 0o777, 0, 0o600]),
        "size": len(content) if has_content else 0,
        "mtime_ns": pick.choice([0, 10**18, 1_700_000_000 * 10**9, -1, 2**62]),
        "target": pick.choice(TARGETS[1:7]) if kind == "link" and change != "deleted" else "",
        "source": pick.choice(PATHS) if group and pick.random() < 0.5 else "",
        "group": group,
        "sha256": hashlib.sha256(content).hexdigest() if has_content else "",
        "xattrs": [],
        "before": None,
        "before_sha256": "",
    }
    if pick.random() < 0.05:
        made[pick.choice(list(made))] = pick.choice([*VALUES, *PATHS, *TARGETS])
    return made


def random_delivery(ends: Ends, pick: random.Random) -> Delivery:
    """An outcome with its files, of which some are not what they should be."""
    contents: list[bytes] = []
    form = json.loads(model.encode(TOLD))
    changes = [random_change(pick, contents) for _ in range(pick.randrange(6))]
    form["changed"] = changes
    if pick.random() < 0.2:
        exchange(form["result"], pick)
    files = {**FILES, "changed": b"".join(contents), "outcome.json": written(form)}
    if pick.random() < 0.1:
        name = pick.choice(list(files))
        files[name] = mutated(files[name], pick)
    if pick.random() < 0.05:
        files[pick.choice([*PATHS, *(f"artifacts/{path}" for path in PATHS)])] = b"x"
    delivery = {path: ends.blobs.add(data) for path, data in files.items()}
    if pick.random() < 0.05:
        ends.blobs.kept.pop(pick.choice(list(delivery.values())))
    return Delivery(delivery)


def make_project(project: Path, outside: Path) -> None:
    outside.mkdir()
    (outside / "kept").write_text("kept")
    (project / "src").mkdir()
    (project / ".git").mkdir()
    for name in ("a.txt", "b.txt", "src/x", ".git/config", ".git/HEAD"):
        (project / name).write_text(name)
    (project / ".env").write_text("TOKEN=secret")
    (project / "host").symlink_to(outside)
    os.mkfifo(project / "fifo")


def check_project(project: Path, outside: Path) -> None:
    """Hold what no worker may change to what it was."""
    assert [one.name for one in outside.iterdir()] == ["kept"]
    assert (outside / "kept").read_text() == "kept"
    assert (project / ".env").read_text() == "TOKEN=secret"
    assert (project / ".env").stat().st_nlink == 1
    (project / ".git").chmod(0o755)  # a run may change its rights, as those of any folder
    assert (project / ".git" / "config").read_text() == ".git/config"
    for name in (".envrc", ".vscode/tasks.json", "AGENTS.md", ".git/hooks/pre-commit"):
        assert not (project / name).is_file()
        assert not (project / name).is_symlink()
    for folder, folders, files in os.walk(project):
        for name in folders + files:
            path = os.path.join(folder, name)
            if os.path.islink(path) and os.readlink(path) != str(outside):
                assert f"{os.path.realpath(path)}/".startswith(f"{project}/")


@pytest.mark.parametrize("seed", SEEDS)
async def test_whole_deliveries_are_taken_or_refused(
    seed: int, is_long: bool, project: Path, tmp_path: Path
):
    pick = random.Random(seed)
    outside = tmp_path / "outside"
    make_project(project, outside)
    ends = Ends(project, tmp_path / "ends")
    ends.leave_out = (".git", "target")
    await ends.send()
    taken = 0
    for _ in range(DELIVERIES_LONG if is_long else DELIVERIES):
        ends.record = await ends.commits.record(ends.profile) if pick.random() < 0.8 else None
        try:
            await ends.bring_back(random_delivery(ends, pick))
        except (OutcomeError, BlobError):
            assert list(ends.landing.iterdir()) == []
        else:
            taken += 1
            for left in ends.landing.iterdir():
                assert left.name in ("stdout", "stderr") or left.name.startswith("01-")
                assert left.is_file()
                left.unlink()
        check_project(project, outside)
        assert sorted(one.name for one in tmp_path.iterdir()) == ["ends", "outside", "project"]
    assert taken
    assert ends.order.run_id == RUN_ID
