"""The verb `pack`, as a person calls it."""

from __future__ import annotations

import io
import json
import sys

import pytest

from ctxmode import cli
from kb.tokens import estimate
from tests.repomap.repositories import APP, commit_all, write_files

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"


@pytest.fixture
def ask(place, capsys):
    """Run the verb in a project; what it prints on stdout and on stderr."""
    write_files(place, APP)

    def run(*words, code=0):
        assert cli.main(["pack", *map(str, words)]) == code
        shown = capsys.readouterr()
        return shown.out, shown.err

    return run


def test_a_pack_has_the_file_that_the_task_is_about(ask):
    out, err = ask("--task", "apply_discount of the cart", "--budget", 2000)
    assert "## src/app/cart.py (whole)" in out
    assert "def apply_discount(self, percent):" in out
    assert estimate(out, "claude-5") <= 2000
    assert "of 2000 tokens (claude-5)" in err


def test_json_is_one_document(ask):
    out, _ = ask("--task", "apply_discount of the cart", "--json", "--budget", 1500)
    whole = json.loads(out)
    assert whole["selected"][0]["rel_path"] == "src/app/cart.py"
    assert estimate(out, "claude-5") <= whole["used_tokens"] <= 1500


@pytest.mark.parametrize("family", ["o200k", "claude-3", "claude-5"])
def test_the_budget_holds_for_the_family_that_counts(ask, family):
    out, _ = ask("--task", "discount", "--family", family, "--budget", 600)
    assert estimate(out, family) <= 600


def test_a_task_comes_from_stdin_or_the_file_of_contextos(ask, place, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"send_letter fails")))
    assert ask("--task", "-")[0].count("send_letter fails") == 1
    write_files(place, {".contextos/CURRENT_TASK.md": "Letters to nobody\n"})
    assert "Letters to nobody" in ask()[0]


def test_without_a_task_the_most_central_file_comes_first(ask):
    out, _ = ask("--json", "--paths", "src/**")
    assert json.loads(out)["selected"][0]["rel_path"] == "src/app/prices.py"


def test_facts_stand_before_the_files(ask, capsys):
    assert cli.main(["memory", "remember", "Discounts are given once.", "--key", "discount"]) == 0
    capsys.readouterr()
    out, _ = ask("--task", "discount")
    assert out.index("Discounts are given once.") < out.index("## src/app/cart.py")


def test_no_secret_is_in_a_pack_a_warning_or_the_map(ask, place):
    write_files(place, {
        "src/app/letters.py": f'"""Letters {SECRET}."""\n\ntoken = "{SECRET}"\nletter = 1\n',
        ".env": f"LETTER={SECRET}\n",
    })  # fmt: skip
    commit_all(place, "Letters")
    for words in ((), ("--no-source",), ("--json",)):
        out, err = ask("--task", f"letter token {SECRET}", *words)
        assert SECRET not in out + err
        assert "letters.py" in out  # the positive control: the file is there
        assert ".env" not in out
    kept = [path for path in place.parent.rglob("*.repomap.sqlite3*") if path.is_file()]
    assert kept
    assert not any(SECRET.encode() in path.read_bytes() for path in kept)


def test_history_is_found_by_its_words(ask, place):
    commit_all(place, "Begin")
    write_files(place, {"src/app/mail.py": "def send_letter(to):\n    return None\n"})
    commit_all(place, "Stop newsletters for penguins", at=1_700_100_000)
    out, _ = ask("--task", "newsletters for penguins", "--json")
    assert json.loads(out)["selected"][0]["rel_path"] == "src/app/mail.py"


def test_since_a_commit_what_changed_comes_first_then_what_depends_on_it(ask, place):
    first = commit_all(place, "Begin")
    write_files(place, {"src/app/prices.py": "def find_price(name):\n    return 3\n"})
    out, err = ask("--since", first, "--json")
    paths = [one["rel_path"] for one in json.loads(out)["selected"]]
    assert paths[:2] == ["src/app/prices.py", "src/app/cart.py"]
    assert "1 file changed since" in err
    assert "no commit" in ask("--since", "nothing", code=2)[1]


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("src/app/cart.py", "in the pack (full"),
        ("tests/../src/app/cart.py", "in the pack (full"),
        ("a.tmp", "left out of the map: git ignores it"),
        ("none.py", "or no such file"),
        ("/etc/passwd", "or no such file"),
    ],
)
def test_fits_says_why_a_file_is_in_or_out(ask, place, path, said):
    write_files(place, {"a.tmp": "discount"})
    out, _ = ask("--task", "apply_discount of the cart", "--fits", path)
    assert said in out


def test_fits_as_data_has_the_rank_and_the_evidence(ask):
    words = ("--task", "apply_discount", "--fits", "src/app/cart.py", "--json")
    found = json.loads(ask(*words)[0])
    assert (found["rank"], found["kind"], found["score"]) == (1, "full", 1.0)
    assert "names" in dict(found["evidence"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--budget", "0"), "invalid budget of 0 tokens"),
        (("--budget", "-5"), "invalid budget of -5 tokens"),
        (("--budget", "lots"), "lots"),
        (("--family", "gpt-9"), "gpt-9"),
        (("--paths", "a["), "a["),
        (("--format", "xml"), "xml"),
    ],
)
def test_what_cannot_be_is_an_error_with_what_to_do(ask, words, said):
    out, err = ask("--task", "x", *words, code=2)
    assert out == ""
    assert said in err
