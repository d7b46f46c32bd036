"""Measures: each can be listed, and those that are quick to try work."""

from __future__ import annotations

import shutil

import pytest

from benchmarks.__main__ import ROOMS, find_measures, main
from benchmarks.harness import DATA, NotMeasuredError, take
from benchmarks.outputs import make_files


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_has_measures_that_are_listed(room, capsys):
    measures = find_measures(room)
    assert measures
    assert {one.name.partition(".")[0] for one in measures} == {room}
    assert all(one.rounds > 0 for one in measures)
    main([room, "--list"])
    listed = capsys.readouterr().out
    assert all(one.name in listed or one.is_long for one in measures)


@pytest.mark.parametrize("words", [["nothing"], ["execute.nothing"], ["--with", "x"]])
def test_what_is_not_there_is_an_error(words, capsys):
    with pytest.raises(SystemExit) as error:
        main(words)
    text = f"{error.value.code}{capsys.readouterr().err}"
    assert "no such" in text or "NAME=VALUE" in text


def test_a_measure_without_its_option_is_not_measured():
    (measure,) = (one for one in find_measures("repomap") if one.name == "repomap.issues")
    with pytest.raises(NotMeasuredError, match="--with repos=VALUE"):
        take(measure)


def test_one_round_of_shell_is_measured(tmp_path, monkeypatch):
    shutil.copy("/bin/bash", tmp_path)  # nothing else is to be proven for this
    monkeypatch.setenv("PATH", str(tmp_path))
    (measure,) = (one for one in find_measures("execute") if one.name == "execute.languages")
    bench = take(measure, rounds=1, only="shell")
    assert [row.name for row in bench.rows] == ["shell, cold", "shell, warm"]
    assert all(row.ratio == row.ours / row.other > 0 for row in bench.rows)
    assert bench.notes == []


def test_files_of_a_recipe_are_made_of_its_template():
    template = {
        "file": "@word@.c", "parts": 4, "part": "@n@@want@ ", "after": "ok", "failing": "no @Word@",
    }  # fmt: skip
    files = make_files(template)
    assert files["account.c"] == "00 11 22 33 ok"
    assert files["ledger.c"] == "00 11 22 34 no Ledger"


def test_every_data_file_is_read_by_a_measure():
    sources = "".join(path.read_text() for path in DATA.parent.glob("*.py"))
    assert [path.name for path in DATA.iterdir() if f'"{path.name}"' not in sources] == []
