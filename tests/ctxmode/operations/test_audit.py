"""The audit log: every verdict, no secrets, a bounded size, and never in the way."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ctxmode.operations import audit

DENIED = {
    "decision": "deny",
    "matches": [{"rule_id": "no-push"}, {"rule_id": "no-push"}, {"rule_id": "other"}],
}


def entry(text: str = "git push", verdict: dict | None = None) -> dict:
    return audit.build_entry("sandbox", "shell", text, verdict or DENIED, "/p")


def test_an_entry_tells_what_was_decided_where_and_by_which_rules(tmp_path: Path):
    assert audit.write_entry(tmp_path, entry()) == ""
    (found,) = audit.read_entries(tmp_path)
    assert found.pop("time") > 1_600_000_000
    assert found == {
        "surface": "sandbox",
        "language": "shell",
        "decision": "deny",
        "rules": ["no-push", "other"],
        "excerpt": "git push",
        "project": "/p",
    }


@pytest.mark.parametrize(("consent", "word"), [(True, "ask, granted"), (False, "ask, refused")])
def test_a_consent_is_told_with_its_answer(consent, word):
    verdict = {"decision": "ask", "matches": [], "consent": consent}
    assert entry("x", verdict)["decision"] == word


def test_secrets_are_masked_and_long_programs_cut():
    text = "curl -u x --password=hunter2\n" + "a b " * 5000
    shown = entry(text)["excerpt"]
    assert shown.startswith("curl -u x --password=[REDACTED:password] a b")
    assert len(shown) == audit.EXCERPT_CHARS_MAX
    assert "hunter2" not in shown


def test_the_log_is_its_owners_alone(tmp_path: Path):
    audit.write_entry(tmp_path / "logs", entry())
    assert (tmp_path / "logs" / audit.FILE_NAME).stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "logs").stat().st_mode & 0o777 == 0o700


def test_a_full_log_is_turned_over_once_and_the_newest_entries_stay(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(audit, "BYTES_MAX", 2000)
    for number in range(60):
        assert audit.write_entry(tmp_path, entry(f"command {number}")) == ""
    found = [one["excerpt"] for one in audit.read_entries(tmp_path)]
    assert found[-1] == "command 59"
    assert 10 <= len(found) < 60
    assert found == [f"command {n}" for n in range(60 - len(found), 60)]
    assert sorted(os.listdir(tmp_path)) == ["audit.jsonl", "audit.jsonl.1"]
    assert all((tmp_path / name).stat().st_size <= 2000 for name in os.listdir(tmp_path))


def test_several_processes_write_whole_lines(tmp_path: Path):
    code = (
        "import sys\nfrom pathlib import Path\nfrom ctxmode.operations import audit\n"
        "audit.BYTES_MAX = 100_000\n"
        "for n in range(100):\n"
        "    verdict = {'decision': 'allow', 'matches': []}\n"
        "    e = audit.build_entry('s', 'shell', 'x' * 200, verdict, '/p')\n"
        "    assert audit.write_entry(Path(sys.argv[1]), e) == ''\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path)]) for _ in range(3)]
    assert [process.wait(120) for process in running] == [0, 0, 0]
    lines = b"".join(
        (tmp_path / name).read_bytes()
        for name in ("audit.jsonl.1", "audit.jsonl")
        if (tmp_path / name).exists()
    ).splitlines()
    assert all(json.loads(line)["excerpt"] == "x" * 200 for line in lines)
    assert len(lines) == 300 or sum(map(len, lines)) > 100_000


def test_whoever_may_not_wait_writes_nothing_while_another_does(tmp_path: Path):
    assert audit.write_entry(tmp_path, entry(), wait=False) == ""
    with open(tmp_path / audit.FILE_NAME, "ab") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert audit.write_entry(tmp_path, entry(), wait=False) is None
    assert audit.write_entry(tmp_path, entry(), wait=False) == ""
    assert len(list(audit.read_entries(tmp_path))) == 2


def test_a_place_that_cannot_be_written_is_told_and_raises_nothing(tmp_path: Path):
    (tmp_path / "file").write_text("")
    why = audit.write_entry(tmp_path / "file", entry())
    assert "cannot write" in why
    os.symlink("/nowhere/else", tmp_path / audit.FILE_NAME)
    assert "cannot write" in audit.write_entry(tmp_path, entry())


def test_a_line_that_was_cut_off_is_left_out(tmp_path: Path):
    audit.write_entry(tmp_path, entry())
    with open(tmp_path / audit.FILE_NAME, "ab") as log:
        log.write(b'{"surface": "sand')
    assert len(list(audit.read_entries(tmp_path))) == 1


def test_no_log_has_no_entries(tmp_path: Path):
    assert list(audit.read_entries(tmp_path / "none")) == []
