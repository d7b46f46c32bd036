"""A pipeline's file is understood, or told to be wrong at its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxmode.errors import UsageError
from ctxmode.pipelines.model import PipelineStep, cases_of, find_circle, load
from executor.model import Limits

STEP = '[[step]]\nname = "a"\nlanguage = "shell"\ncode = "true"\n'


@pytest.fixture
def read(tmp_path: Path):
    def read(text: str):
        file = tmp_path / "pipeline.toml"
        file.write_text(text)
        return load(file, tmp_path, Limits())

    return read


def test_a_step_is_read_with_all_it_says(read, tmp_path: Path):
    (tmp_path / "count.py").write_text("print(1)\n")
    text = """\
profile = "build"
limits = { memory_bytes = "1G" }

[[step]]
name = "count"
script = "count.py"
args = ["{matrix.year}"]
env = { A = "b" }
inputs = ["*.csv"]
artifacts = ["*.json"]
expect_exit = [0, 3]
timeout_s = 5
matrix = { year = [2024, 2025], os = ["x"] }
limits = { processes = 9 }
"""
    (step,) = read(text).steps
    assert step == PipelineStep(
        name="count",
        language="python",
        line=4,
        script="count.py",
        args=("{matrix.year}",),
        env={"A": "b"},
        inputs=("*.csv",),
        artifacts=("*.json",),
        expect_exit=(0, 3),
        profile="build",
        timeout_s=5,
        matrix={"year": (2024, 2025), "os": ("x",)},
        limits=Limits(memory_bytes=1024**3, processes=9),
    )
    cases = cases_of(step)
    assert [case.name for case in cases] == ["count (year=2024, os=x)", "count (year=2025, os=x)"]
    assert cases[1].fill("in {matrix.year}") == "in 2025"


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("", None, "no steps"),
        ("nam = 'x'\n" + STEP, 1, "Did you mean name?"),
        (STEP + 'neds = ["b"]', 5, "Did you mean needs?"),
        (STEP + 'needs = ["c"]', 5, "unknown key"),
        (STEP + STEP, 6, "duplicate step name 'a', also on line 1"),
        (STEP + 'script = "x.sh"', 1, "code and script exclude each other"),
        ('[[step]]\nname = "a"\nscript = "gone.py"', 3, "no script 'gone.py'"),
        ('[[step]]\nname = "a"\nlanguage = "pyhton"\ncode = "1"', 3, "python"),
        ('[[step]]\nname = "a"\ncode = "1"', 1, "no language"),
        ('[[step]]\nlanguage = "shell"\ncode = "1"', 1, "no name"),
        (STEP + "matrix = { a = [] }", 5, "its values must be lists"),
        (
            STEP + f"matrix = {{ a = {list(range(100))}, b = {list(range(100))} }}",
            5,
            "10,000 cases",
        ),
        (STEP + 'needs = ["a"]', 5, "wait for each other: a → a"),
        (
            STEP + 'needs = ["b"]\n' + STEP.replace('"a"', '"b"') + 'needs = ["a"]',
            5,
            "wait for each other: a → b → a",
        ),
        (STEP + "expect_exit = 300", 5, "0 to 255"),
        (STEP + "timeout_s = 0", 5, "positive"),
        (STEP + 'limits = { memory = "1G" }', 5, "Did you mean memory_bytes?"),
        (STEP + "env = { A = 1 }", 5, "env"),
        (STEP + 'args = "x"', 5, "list of texts"),
        (STEP + 'x = "', 5, "TOML"),
        ("step = 3", 1, "no steps"),
    ],
)
def test_what_is_wrong_is_told_at_its_line(read, tmp_path: Path, text, line, said):
    with pytest.raises(UsageError) as raised:
        read(text)
    where = f"{tmp_path / 'pipeline.toml'}" + (f":{line}" if line else "")
    assert str(raised.value).startswith(f"{where}: ")
    assert said in str(raised.value)


def test_a_missing_file_is_told(tmp_path: Path):
    with pytest.raises(UsageError, match="no such file"):
        load(tmp_path / "gone.toml", tmp_path, Limits())


def steps(**needs: str) -> list[PipelineStep]:
    return [PipelineStep(name, "shell", 1, code="", needs=tuple(of)) for name, of in needs.items()]


@pytest.mark.parametrize(
    ("given", "circle"),
    [
        (steps(a="", b="a", c="ab"), ""),
        (steps(a="b", b="c", c="d", d="b"), "bcdb"),
        (steps(a="", b="ab"), "bb"),
        (steps(d="bc", b="a", c="a", a=""), ""),
    ],
)
def test_circles_are_found(given, circle):
    assert "".join(find_circle(given)) == circle


def test_a_long_chain_is_no_circle():
    chain = [
        PipelineStep(str(n), "shell", 1, code="", needs=(str(n + 1),) if n < 5000 else ())
        for n in range(5001)
    ]
    assert find_circle(chain) == []
