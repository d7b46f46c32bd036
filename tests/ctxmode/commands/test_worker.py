"""The verb `worker`: what is wrong with its command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxmode import cli, exit_codes
from ctxmode.commands import worker as verb
from tests.fleet.orders import write_keys


@pytest.fixture(autouse=True)
def _nothing_of_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEXT_MODE_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("CONTEXT_MODE_CLUSTER_BLOBS", (tmp_path / "blobs").as_uri())
    monkeypatch.setattr(verb, "OF_MACHINE", tmp_path / "etc")


HERE = ("--cluster", "dask://localhost")
WRONG = {
    "none at once": (["--at-once", "0"], "--at-once 0"),
    "too many at once": (["--at-once", "2000"], "from 1 to 1,024"),
    "no number": (["--at-once", "x"], "--at-once"),
    "no list of keys": ([*HERE, "--keys", "absent"], "No such file"),
    "keys that others write": ([*HERE, "--keys", "open.toml"], "chmod go-w"),
    "a list that is none": ([*HERE, "--keys", "none.toml"], "[fronts.NAME]"),
    "no default list": ([], "no list of fronts"),
    "no rules": (["--keys", "fronts.toml", "--rules", "absent"], "no such file"),
    "an empty name": (["--keys", "fronts.toml", "--name", ""], "printable"),
    "a name of two lines": (["--keys", "fronts.toml", "--name", "a\nb"], "printable"),
    "a folder in a file": ([*HERE, "--keys", "fronts.toml", "--folder", "file/x"], "--folder"),
    "no cluster": (["--keys", "fronts.toml"], "no cluster is set"),
    "no Dask cluster": (["--keys", "fronts.toml", "--cluster", "grpcs://x"], "only Dask clusters"),
    "no certificates": (["--keys", "fronts.toml", "--cluster", "dask+tls://x"], "certificates"),
    "a plain one elsewhere": (["--keys", "fronts.toml", "--cluster", "dask://x"], "dask+tls://x"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_told_before_anything_is_opened(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_bytes(b"x")
    write_keys(tmp_path / "fronts.toml")
    write_keys(tmp_path / "open.toml").chmod(0o622)
    (tmp_path / "none.toml").write_text("x = 1")
    (tmp_path / "none.toml").chmod(0o600)
    line, told = WRONG[case]
    assert cli.main(["serve", "worker", *line]) == exit_codes.USAGE
    assert told in capfd.readouterr().err
