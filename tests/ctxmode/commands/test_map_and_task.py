"""The verbs `map` and `task`, as a person calls them."""

from __future__ import annotations

import io
import json
import sys

import pytest

from ctxmode import cli
from kb.tokens import estimate
from tests.repomap.repositories import APP, write_files

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
CIRCLE = {
    "src/app/mail.py": '"""Letters."""\n\nimport app.cart\n',
    "src/app/prices.py": "import app.mail\n\n\ndef find_price(name):\n    return 1\n",
}


@pytest.fixture
def call(place, capsys):
    """Run a verb in a project; what it prints on stdout and on stderr."""
    write_files(place, APP)

    def run(*words, code=0):
        assert cli.main([*map(str, words)]) == code
        shown = capsys.readouterr()
        return shown.out, shown.err

    return run


def test_o1_a_map_has_the_languages_and_the_most_central_file_first(call):
    out, err = call("pack", "map", "--budget", 1500)
    assert "- python: 5 files" in out
    assert out.index("## src/app/prices.py (skeleton") < out.index("## src/app/cart.py (skeleton")
    assert "self.total" not in out
    assert estimate(out, "claude-5") <= 1500
    assert "of 1500 tokens (claude-5)" in err


def test_a_map_as_data_has_the_overview(call):
    whole = json.loads(call("pack", "map", "--json")[0])
    assert whole["overview"]["size"]["files"] == len(APP)
    assert {one["kind"] for one in whole["selected"]} <= {"skeleton", "summary"}


def test_a_map_with_a_task_begins_with_the_files_that_it_is_about(call):
    whole = json.loads(call("pack", "map", "--task", "send_letter", "--json")[0])
    assert whole["selected"][0]["rel_path"] == "src/app/mail.py"


def test_o2_o3_o4_three_files_are_written_and_replaced(call, place):
    write_files(place, CIRCLE)
    first = json.loads(call("pack", "map", "--write", ".contextos", "--json")[0])["written"]
    names = ["file_summaries.json", "dependency_graph.json", "PROJECT_INDEX.md"]
    assert first == [str(place / ".contextos" / name) for name in names]
    summaries, graph = (json.loads((place / ".contextos" / name).read_text()) for name in names[:2])
    cart = next(one for one in summaries["files"] if one["path"] == "src/app/cart.py")
    assert (cart["language"], cart["size"]) == ("python", len(APP["src/app/cart.py"]))
    assert cart["tokens"] == estimate(APP["src/app/cart.py"], "claude-5")
    assert cart["purpose"] == "The cart of a customer."
    assert "ShoppingCart.add_item" in cart["symbols"]
    assert graph["edges"]["tests/test_cart.py"] == ["src/app/cart.py"]
    assert graph["cycles"] == [["src/app/cart.py", "src/app/prices.py", "src/app/mail.py"]]
    assert "# Map of a project" in (place / ".contextos" / "PROJECT_INDEX.md").read_text()
    texts = []
    for _ in range(2):
        call("pack", "map", "--write", ".contextos")
        texts.append([(place / ".contextos" / name).read_text() for name in names])
    # What was written is in no map but as a number, so that a later one is the same.
    assert texts[0] == texts[1]
    assert ".contextos" not in "".join(texts[0])


@pytest.mark.parametrize("name", ["file_summaries.json", "PROJECT_INDEX.md"])
@pytest.mark.parametrize("text", ["", "# Mine\n", '{"files": []}\n'])
def test_a_file_that_is_not_ours_is_never_replaced(call, place, name, text):
    write_files(place, {f"out/{name}": text})
    _, err = call("pack", "map", "--write", "out", code=2)
    assert "was not written by context-mode" in err
    assert (place / "out" / name).read_text() == text
    assert [path.name for path in (place / "out").iterdir()] == [name]


def test_no_secret_is_in_what_is_written(call, place):
    write_files(place, {"src/app/keys.py": f'"""Key {SECRET}."""\nkey_token = "{SECRET}"\n'})
    call("pack", "map", "--write", "out")
    texts = [path.read_text() for path in (place / "out").iterdir()]
    assert any("keys.py" in text for text in texts)
    assert not any(SECRET in text for text in texts)


def test_o13_a_task_is_kept_shown_used_and_cleared(call):
    assert "No task is kept" in call("pack", "task")[0]
    assert "Kept" in call("pack", "task", "send_letter fails for nobody")[0]
    assert call("pack", "task", "show")[0] == "send_letter fails for nobody\n"
    out, err = call("pack", "--json")
    whole = json.loads(out)
    assert whole["task"] == "send_letter fails for nobody"
    assert whole["selected"][0]["rel_path"] == "src/app/mail.py"
    assert "memory" not in whole  # the task stands there once
    assert "context-mode pack task" in err
    call("pack", "task", "apply_discount is wrong")
    assert json.loads(call("pack", "task", "--json")[0]) == {
        "task": "apply_discount is wrong", "source": "kept",
    }  # fmt: skip
    assert "cleared" in call("pack", "task", "clear")[0]
    assert json.loads(call("pack", "task", "clear", "--json")[0]) == {"cleared": False}
    assert json.loads(call("pack", "task", "show", "--json")[0]) == {"task": "", "source": ""}


def test_a_given_task_comes_before_the_kept_one_and_that_before_the_file(call, place):
    write_files(place, {".contextos/CURRENT_TASK.md": "find_price\n"})
    assert json.loads(call("pack", "task", "--json")[0]) == {"task": "find_price", "source": "file"}
    assert json.loads(call("pack", "--json")[0])["task"] == "find_price"
    call("pack", "task", "send_letter")
    assert json.loads(call("pack", "--json")[0])["task"] == "send_letter"
    assert json.loads(call("pack", "--json", "-t", "cart")[0])["task"] == "cart"


def test_a_task_comes_from_stdin_and_leaves_secrets_out(call, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(f"use {SECRET}".encode())))
    out, err = call("pack", "task", "-")
    assert "1 secrets were left out" in err
    assert SECRET not in out + call("pack", "task", "show")[0]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("pack", "task", ""), "the task is empty"),
        (("pack", "task", "  "), "the task is empty"),
        (("pack", "task", "x" * 20_000), "16384"),
        (("pack", "map", "--budget", "0"), "invalid budget of 0 tokens"),
        (("pack", "map", "--write", "/proc/none/x"), "/proc/none/x"),
        (("pack", "map", "--write", "README.md"), "README.md"),
        (("pack", "map", "--family", "gpt-9"), "gpt-9"),
    ],
)
def test_what_cannot_be_is_an_error_with_what_to_do(call, words, said):
    out, err = call(*words, code=2)
    assert out == ""
    assert said in err


def test_purging_everything_removes_the_map(call, place):
    call("pack", "map")
    maps = list(place.parent.rglob("*.repomap.sqlite3"))
    assert len(maps) == 1
    assert json.loads(call("kept", "rm", "--all", "--yes", "--json")[0])["maps"] == 1
    assert not maps[0].exists()
    assert json.loads(call("kept", "rm", "--all", "--yes", "--json")[0])["maps"] == 0
    call("pack", "map")
    assert maps[0].exists()
