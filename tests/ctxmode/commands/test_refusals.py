"""The verb `refusals`: the latest runs that were refused something, or all of one."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ctxmode import cli, exit_codes
from ctxmode.config.locations import load_config
from ctxmode.operations import usage
from ctxmode.operations.usage import RunRecord, record
from executor.model import Refusal

RUN = RunRecord(
    5.0, "python", "cpython", "analyze", "A", "nonzero_exit", 1, None, "run", "allow", 0.1, 0.1,
    9, 1, 2, 0, 0, 0, 0, None, "out-1",
)  # fmt: skip
NAME = Refusal("network", "example.com", "the name server", "exact", 2, 'network = ["example.com"]')
CALL = Refusal("call", "mount\x1b[2J", "seccomp", "exact", 1, "nothing grants it")
READ = Refusal("read", "/etc/fstab", "the view", "inferred", 1, 'read = ["/etc/fstab"]')


@pytest.fixture
def file(tmp_path: Path, monkeypatch) -> Path:
    """The file of runs of a project of its own."""
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    for name, value in {"HOME": tmp_path, "CONTEXT_MODE_DIR": tmp_path / "data"}.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.delenv("CONTEXT_MODE_PROJECT_DIR", raising=False)
    monkeypatch.chdir(project)
    path = load_config(None).usage_file
    path.parent.mkdir(parents=True)
    return path


def fill(file: Path) -> None:
    record(file, RUN, (NAME, CALL, READ, NAME))
    record(file, RUN._replace(output_id="out-2"))


def test_where_nothing_is_kept_nothing_was_refused(file, capsys):
    assert cli.main(["policy", "refusals"]) == exit_codes.OK
    assert "Nothing was refused" in capsys.readouterr().out
    assert not file.exists()


def test_runs_are_listed_with_what_they_were_refused(file, capsys):
    fill(file)
    assert cli.main(["policy", "refusals"]) == exit_codes.OK
    text = capsys.readouterr().out
    assert "network example.com" in text
    assert "\x1b[2J" not in text


@pytest.mark.parametrize("asked", ["1", "out-1"])
def test_one_run_is_told_whole(file, capsys, asked):
    fill(file)
    assert cli.main(["policy", "refusals", asked]) == exit_codes.OK
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("run 1, ")
    assert lines[1] == (
        "refused: network example.com (2 times), by the name server; "
        'to allow it: network = ["example.com"]'
    )
    assert lines[3].startswith("probably refused: read /etc/fstab, by the view; to allow it: ")


def test_a_run_that_was_refused_nothing_is_known(file, capsys):
    fill(file)
    assert cli.main(["policy", "refusals", "2"]) == exit_codes.OK
    assert capsys.readouterr().out == "The sandbox blocked nothing in run 2.\n"


@pytest.mark.parametrize("asked", ["77", "out-9", "'; DROP TABLE run"])
def test_an_unknown_run_is_an_error_that_names_the_list(file, capsys, asked):
    fill(file)
    assert cli.main(["policy", "refusals", asked]) == exit_codes.USAGE
    assert "List them: context-mode policy refusals" in capsys.readouterr().err


def test_the_data_is_as_told(file, capsys):
    fill(file)
    assert cli.main(["policy", "refusals", "--json"]) == exit_codes.OK
    told = json.loads(capsys.readouterr().out)
    (run,) = told["runs"]
    assert (told["total"], run["run"], run["status"]) == (1, 1, "nonzero_exit")
    assert [each["target"] for each in run["refusals"]][:1] == ["example.com"]
    assert set(run["refusals"][0]) == {"kind", "target", "by", "certainty", "count", "remedy"}


def test_a_file_of_an_earlier_release_is_an_error_in_words(file, capsys):
    with closing(sqlite3.connect(file)) as db:
        usage.create_usage_table(db)
        db.execute("PRAGMA user_version = 1")
    assert cli.main(["policy", "refusals"]) == exit_codes.ERROR
    assert "earlier release" in capsys.readouterr().err
