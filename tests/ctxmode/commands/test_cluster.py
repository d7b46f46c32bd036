"""The verb `cluster`: a front's key as workers list it, and what is wrong with a cluster."""

from __future__ import annotations

import json
import stat
import tomllib

import pytest

from ctxmode import cli, exit_codes
from fleet.seal import load_served_keys


@pytest.fixture(autouse=True)
def _own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("CONTEXT_MODE_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def test_a_key_is_printed_as_a_worker_reads_it(tmp_path, capsys):
    assert (
        cli.main(["serve", "cluster", "key", "--name", "office", "--owner", "ci"]) == exit_codes.OK
    )
    row = capsys.readouterr().out
    keys = tmp_path / "fronts.toml"
    keys.write_text(row)
    keys.chmod(0o600)
    ((name, (_, owners)),) = load_served_keys(keys).items()
    assert (name, owners) == ("office", {"ci"})
    file = tmp_path / "config" / "ctxmode" / "front.key"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_the_key_stays_the_same(capsys):
    rows = []
    for _ in range(2):
        assert cli.main(["serve", "cluster", "key", "--json"]) == exit_codes.OK
        rows.append(json.loads(capsys.readouterr().out))
    assert rows[0] == rows[1]
    assert rows[0]["owners"] == ["*"]


def test_a_name_that_is_none_is_refused(capsys):
    assert cli.main(["serve", "cluster", "key", "--name", 'x"]\n[y']) == exit_codes.USAGE
    assert "invalid --name" in capsys.readouterr().err


def test_a_key_that_others_may_read_is_refused_with_what_to_do(tmp_path, capsys):
    assert cli.main(["serve", "cluster", "key"]) == exit_codes.OK
    file = tmp_path / "config" / "ctxmode" / "front.key"
    file.chmod(0o644)
    capsys.readouterr()
    assert cli.main(["serve", "cluster", "key"]) == exit_codes.USAGE
    told = capsys.readouterr().err
    assert "others may read or write it" in told
    assert f"chmod 600 {file}" in told


def test_a_host_whose_name_is_no_key_of_toml_gets_one(monkeypatch, capsys):
    monkeypatch.setattr("socket.gethostname", lambda: "büro.example")
    assert cli.main(["serve", "cluster", "key"]) == exit_codes.OK
    assert list(tomllib.loads(capsys.readouterr().out)["fronts"]) == ["b-ro-example"]


def test_without_a_cluster_there_is_nothing_to_check(capsys):
    assert cli.main(["serve", "cluster", "check"]) == exit_codes.USAGE
    assert "no cluster is set" in capsys.readouterr().err
