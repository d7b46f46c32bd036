"""The verb `policy`: what the rules say, as text, as JSON, and as an exit code."""

from __future__ import annotations

import io
import itertools
import json
from pathlib import Path

import pytest

from ctxmode import cli, exit_codes
from ctxmode.operations import audit
from policy import judging

SETTINGS = {
    "permissions": {
        "deny": ["Bash(git push *)", "Write(src/**)"],
        "ask": ["Bash(npm publish *)"],
        "allow": ["Bash(ls *)"],
    }
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch) -> Path:
    """A project with rules of its own, far from the user's."""
    home, project = tmp_path / "home", tmp_path / "home" / "project"
    (project / ".claude").mkdir(parents=True)
    (project / ".git").mkdir()
    (project / ".claude" / "settings.json").write_text(json.dumps(SETTINGS))
    for name, value in {"HOME": home, "CONTEXT_MODE_DIR": tmp_path / "data"}.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.delenv("CONTEXT_MODE_PROJECT_DIR", raising=False)
    monkeypatch.chdir(project)
    return project


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("ls -l", 0),
        ("git push origin main", 126),
        ("cd x && sudo git push origin", 126),
        ("npm publish --tag next", 116),
        ("curl https://example.org", 117),
        ("curl -o page https://example.org", 0),
    ],
)
def test_check_exits_by_the_verdict(place, capsys, program, code):
    assert cli.main(["policy", "check", program]) == code
    assert capsys.readouterr().out


def test_check_as_json_names_the_rule_its_file_and_the_span(place, capsys):
    assert (
        cli.main(["policy", "check", "--json", "true; git push x"])
        == exit_codes.BY_DECISION["deny"]
    )
    said = json.loads(capsys.readouterr().out)
    assert said["decision"] == "deny"
    assert said["language"] == "shell"
    (match,) = said["matches"]
    assert match["rule"] == "Bash(git push *)"
    assert match["file"].endswith(".claude/settings.json")
    assert match["span"] == [6, 16]


def test_a_file_is_judged_in_its_own_language(place, capsys):
    (place / "deploy.py").write_text("import os\nos.system('git push origin')\n")
    assert cli.main(["policy", "check", "--json", "deploy.py"]) == 126
    assert json.loads(capsys.readouterr().out)["language"] == "python"


def test_stdin_and_what_follows_the_dashes_are_programs(place, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"git push x")))
    assert cli.main(["policy", "check", "-"]) == 126
    assert cli.main(["policy", "check", "--", "git push x"]) == 126
    capsys.readouterr()


def test_explain_underlines_the_place(place, capsys):
    program = "import os; os.system('git push x')"
    assert cli.main(["policy", "explain", "--lang", "python", program]) == 126
    said = capsys.readouterr().out.splitlines()
    place_of = said.index(f"     {program}")
    assert said[place_of + 1].strip() == "^" * len("os.system('git push x')")


def test_explain_as_json_has_steps_and_verdict(place, capsys):
    assert cli.main(["policy", "explain", "--json", "ls -l | wc"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [step["detail"] for step in said["steps"]] == ["'ls' '-l'", "'wc'"]
    assert said["verdict"]["decision"] == "allow"


def test_list_shows_every_rule_its_trust_and_what_is_never_consulted(place, capsys):
    assert cli.main(["policy", "list", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    listed = {rule["rule"]: rule for rule in said["rules"]}
    assert listed["Bash(git push *)"]["in_force"] is True
    assert listed["Bash(git push *)"]["line"] == 1
    assert listed["Bash(ls *)"]["in_force"] is False
    assert "Write(src/**)" not in listed
    assert any("never consulted" in warning for warning in said["warnings"])
    assert cli.main(["policy", "list"]) == 0
    shown = capsys.readouterr().out
    assert "not trusted" in shown
    assert "never consulted" in shown


CASES = """language\tcode\texpected\treason
bash\tgit push x\tdeny\t[plain] pushes
bash\tcurl https://example.org\tredirect\t[redirect] fills the context
python\timport os\\nos.system("git push x")\tdeny\t[host] calls the shell
bash\tgit pull\tdeny\t[plain] expected wrongly
"""


def test_a_table_of_cases_is_tried_in_order_and_every_miss_is_shown(place, capsys):
    (place / "cases.tsv").write_text(CASES)
    (place / "rules.json").write_text(json.dumps(SETTINGS))
    arguments = ["policy", "test", "cases.tsv", "--rules", "rules.json"]
    assert cli.main([*arguments, "--json"]) == 1
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["got"] for row in rows] == ["deny", "redirect", "deny", "allow"]
    assert rows[0] == {
        "language": "bash",
        "expected": "deny",
        "got": "deny",
        "rule": "Bash(git push *)",
        "reason": "[plain] pushes",
    }
    assert rows[3]["rule"] is None
    assert cli.main(arguments) == 1
    shown = capsys.readouterr().out
    assert "'git pull'" in shown
    assert "expected deny, got allow" in shown
    assert "3 of 4 as expected." in shown
    (place / "cases.tsv").write_text(CASES.rpartition("bash")[0])
    assert cli.main(arguments) == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["check"],
        ["check", "--lang", "klingon", "x"],
        ["check", "a", "--", "b"],
        ["test", "none.tsv", "--rules", ".claude/settings.json"],
        ["no-such-action"],
        [],
    ],
)
def test_what_is_malformed_is_told(place, capsys, arguments):
    assert cli.main(["policy", *arguments]) == exit_codes.USAGE
    assert capsys.readouterr().err


def test_a_broken_rule_file_is_told_with_its_line(place, capsys):
    (place / "rules.json").write_text('{"permissions": {"deny": [1]}}')
    assert cli.main(["policy", "check", "ls", "--rules", "rules.json"]) == exit_codes.USAGE
    assert "rules.json:1" in capsys.readouterr().err


def test_the_log_shows_the_verdicts_that_were_written(place, tmp_path, capsys):
    entry = audit.build_entry("sandbox", "shell", "ls", {"decision": "allow", "matches": []}, "/p")
    audit.write_entry(tmp_path / "data" / "logs", entry)
    assert cli.main(["policy", "log", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["entries"]
    assert found["excerpt"] == "ls"
    assert cli.main(["policy", "log"]) == 0
    assert "allow" in capsys.readouterr().out


def test_list_names_a_rule_as_messages_do_and_once(place, tmp_path, capsys):
    (tmp_path / "real").mkdir()
    (place / "keys").symlink_to(tmp_path / "real")
    (place / ".claude" / "settings.json").write_text(
        json.dumps({"permissions": {"deny": ["Read(/keys/**)"]}})
    )
    (place / ".ctxmode").mkdir()
    (place / ".ctxmode" / "policy.toml").write_text(
        '[[rule]]\nid = "no-publish"\ndecision = "deny"\ncommands = ["npm publish *"]\n'
    )
    assert cli.main(["policy", "list", "--json"]) == 0
    ids = [rule["id"] for rule in json.loads(capsys.readouterr().out)["rules"]]
    assert ids == ["Read(/keys/**)", "no-publish", "default.download", "default.address"]
    assert cli.main(["policy", "check", "npm publish"]) == exit_codes.BY_DECISION["deny"]
    assert "denied by no-publish (Bash(npm publish *)) in" in capsys.readouterr().out
    cli.main(["policy", "list"])
    assert "no-publish (Bash(npm publish *))" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("program", ["git push " + "x\x1b[2J" * 900, "git push\n" * 90, "é" * 9000])
def test_what_check_says_has_at_most_600_bytes(place, capsys, program):
    cli.main(["policy", "check", program])
    said = capsys.readouterr().out
    assert len(said.strip().encode()) <= 600
    assert "\x1b" not in said


def test_a_program_too_long_for_a_name_is_no_file(place, capsys):
    for program in ("cat " + "*.py " * 300, "cat " + "a*/" * 2000, "echo " + "x" * 9000):
        assert cli.main(["policy", "check", program]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "program", ["git push \udcff", "awk '' .; git push \udc80x", f"git push {chr(0xD800)}"]
)
def test_text_that_is_no_unicode_is_checked_and_explained(place, capfd, program):
    for verb in (["check"], ["explain"], ["check", "--json"], ["explain", "--json"]):
        assert cli.main(["policy", *verb, program]) == exit_codes.BY_DECISION["deny"], verb
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("verb", ["check", "explain"])
def test_a_program_that_cannot_be_judged_in_time_is_refused(place, capsys, monkeypatch, verb):
    monkeypatch.setattr(judging, "SECONDS", 0.2)
    monkeypatch.setattr(judging, "analyse", lambda *_: sum(itertools.repeat(0)))
    assert cli.main(["policy", verb, "ls"]) == exit_codes.BY_DECISION["deny"]
    assert "too large to be understood" in capsys.readouterr().out


def test_cases_are_tried_in_made_up_folders_or_in_a_project(place, capsys, tmp_path):
    (place / "deploy.sh").write_text("git push --force\n")
    table, rules = tmp_path / "cases.tsv", place / ".claude" / "settings.json"
    table.write_text("language\tcode\texpected\treason\nbash\t./deploy.sh\tdeny\t[a] script\n")
    test = ["policy", "test", str(table), "--rules", str(rules)]
    assert cli.main(test) == exit_codes.ERROR
    assert cli.main([*test, "--project", str(place)]) == exit_codes.OK
    assert cli.main(["policy", "check", "./deploy.sh"]) == exit_codes.BY_DECISION["deny"]
    assert cli.main(["policy", "explain", "./deploy.sh"]) == exit_codes.BY_DECISION["deny"]
