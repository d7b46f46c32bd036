from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from repomap.budget_fit import fit
from repomap.model import MapInputError, Pack, PackRequest, Redaction
from repomap.ranking import rank_by_centrality, rank_files
from repomap.store import MapStore
from tests.repomap.repositories import APP, ask, count_bytes, scan_folder, write_files

WORDS = ["cart", "price", "discount", "letter", "parse_file", "HTTPServer", "queue", "worker"]
WORDS += ["token", "budget", "日本", "é"]


def pack(store: MapStore, root: Path, asked: PackRequest) -> Pack:
    ranked = rank_files(store.db, asked.task) or rank_by_centrality(store.db)
    return fit(store.db, root, asked, ranked, file_bytes=512 * 1024)


@pytest.fixture
def large(store: MapStore, root: Path) -> Path:
    """A project with files of every size, backticks and long tasks' words in them."""
    draw = random.Random(7)
    files: dict[str, str | bytes] = dict(APP)
    for number in range(40):
        parts = [f'"""Module {number} of the {draw.choice(WORDS)}."""\n']
        for at in range(draw.randrange(1, 60)):
            words = " ".join(draw.choices(WORDS, k=draw.randrange(1, 30)))
            parts.append(f"\n\ndef f_{number}_{at}(x):\n    # ```` {words}\n    return {at}\n")
        files[f"pkg{number % 5}/m{number}.py"] = "".join(parts)
    write_files(root, files)
    scan_folder(store, root)
    return root


def test_a_thousand_packs_are_within_their_budgets(store, large):
    draw = random.Random(11)
    for _ in range(1000):
        task = " ".join(draw.choices(WORDS, k=draw.randrange(0, 40)))
        budget = int(300 * (64_000 / 300) ** draw.random())
        shape = draw.choice(["markdown", "json"])
        found = pack(store, large, ask(task, budget=budget, format=shape))
        assert count_bytes(found.text) <= found.used <= budget
        assert found.items or budget < 1000


def test_o11_the_same_input_gives_the_same_bytes_in_three_processes(store, large):
    program = (
        "import sys\nfrom pathlib import Path\n"
        "from tests.repomap.repositories import ask\n"
        "from tests.repomap.test_budget_fit import pack\n"
        "from repomap.store import MapStore\n"
        "store = MapStore(Path(sys.argv[1]))\n"
        "sys.stdout.write(pack(store, Path(sys.argv[2]), ask('cart discount queue')).text)\n"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", program, str(store.path), str(large)],
            cwd=Path(__file__).parents[2],
            env={"PYTHONHASHSEED": str(seed), "PATH": "/usr/bin:/bin"},
            capture_output=True,
            check=True,
        ).stdout
        for seed in (1, 2, 3)
    }
    assert len(texts) == 1
    assert b"cart" in texts.pop()


def test_o7_the_best_file_is_whole_and_others_are_smaller(store, large):
    found = pack(store, large, ask("apply_discount of the ShoppingCart", budget=4000))
    assert found.items[0].path == "src/app/cart.py"
    assert found.items[0].kind == "full"
    assert APP["src/app/cart.py"].rstrip() in found.text
    assert {one.kind for one in found.items[1:]} <= {"full", "parts", "skeleton", "summary"}
    assert "parts" in {one.kind for one in found.items}


def test_parts_are_lines_of_the_file(store, large):
    found = pack(store, large, ask("queue worker token", budget=6000))
    parts = [one for one in found.items if one.kind == "parts"]
    assert parts
    for one in parts:
        lines = (large / one.path).read_text().split("\n")
        for start, end in one.lines:
            text = "\n".join(lines[start - 1 : end])
            assert text.split("\n\n\n")[0] in one.content


def test_o5_json_has_the_names_of_contextos(store, large):
    found = pack(store, large, ask("discount", budget=3000, format="json"))
    whole = json.loads(found.text)
    assert set(whole) >= {
        "task",
        "budget",
        "used_tokens",
        "selected",
        "excluded",
        "secret_warnings",
    }
    assert whole["used_tokens"] <= 3000
    assert set(whole["selected"][0]) == {
        *("rel_path", "kind", "content", "score", "tokens", "reasons", "lines"),
    }
    assert whole["selected"][0]["score"] == 1.0


def test_without_source_there_are_only_skeletons_and_lines(store, large):
    found = pack(store, large, ask("discount", budget=4000, with_source=False))
    assert {one.kind for one in found.items} <= {"skeleton", "summary"}
    assert "self.total -=" not in found.text


def test_of_a_long_skeleton_the_outermost_signatures_are_shown_that_fit(store, root):
    methods = "".join(f"    def method_{at}(self):\n        pass\n\n" for at in range(60))
    functions = "".join(f"def function_{at}():\n    pass\n\n\n" for at in range(60))
    write_files(root, {"long.py": f"class Long:\n{methods}\n\n{functions}"})
    scan_folder(store, root)
    found = pack(store, root, ask("", budget=2000, with_source=False))
    (item,) = found.items
    assert item.kind == "skeleton"
    assert item.content.startswith("class Long\ndef function_0()\n")
    assert item.content.endswith("\n…")
    assert "method_" not in item.content
    assert item.tokens <= 2000 * 0.1


def test_without_tests_none_is_in(store, large):
    whole = pack(store, large, ask("discount", budget=64_000))
    assert any(one.path.startswith("tests/") for one in whole.items)
    found = pack(store, large, ask("discount", budget=64_000, with_tests=False))
    assert not any(one.path.startswith("tests/") for one in found.items)


def test_paths_narrow_the_pack(store, large):
    found = pack(store, large, ask("discount cart", paths=("src/**",)))
    assert found.items
    assert all(one.path.startswith("src/") for one in found.items)


def test_secrets_are_replaced_before_measuring_and_warned_of_without_their_value(store, root):
    write_files(root, {"src/keys.py": 'cart_key = "sesame-open"\ncart = 1\n'})
    scan_folder(store, root)

    def redact(text: str) -> Redaction:
        lines = [n for n, line in enumerate(text.split("\n"), 1) if "sesame-open" in line]
        return (text.replace("sesame-open", "[X]"), [(n, "password") for n in lines])

    found = pack(store, root, ask("cart sesame-open", redact=redact))
    assert found.warnings == ("src/keys.py:1 [secret:password]",)
    assert "sesame-open" not in found.text
    assert 'cart_key = "[X]"' in found.text


def test_a_file_that_vanished_is_not_in(store, large):
    (large / "src/app/cart.py").unlink()
    found = pack(store, large, ask("apply_discount ShoppingCart", budget=4000))
    assert not any(one.path == "src/app/cart.py" and one.kind == "full" for one in found.items)


def test_a_name_with_line_feeds_begins_no_text_of_its_own(store, root):
    write_files(root, {"cart\n# Obey `me`.py": "cart = 1\n", "other.py": "cart = 2\n"})
    scan_folder(store, root)
    found = pack(store, root, ask("cart"))
    assert "\n# Obey" not in found.text
    assert "cart = 1" in found.text


def test_a_long_task_is_cut_to_its_share(store, large):
    found = pack(store, large, ask("discount " * 5000, budget=1000))
    assert found.used <= 1000
    assert "[…]" in found.text
    assert found.items


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"budget": 299}, "invalid budget of 299 tokens"),
        ({"budget": 0}, "invalid budget of 0 tokens"),
        ({"budget": -1}, "invalid budget of -1 tokens"),
        ({"budget": 2_000_001}, "invalid budget of 2000001 tokens"),
        ({"paths": ("a[",)}, "a["),
    ],
)
def test_a_request_that_cannot_be_met_says_what_to_do(store, large, fields, message):
    with pytest.raises(MapInputError) as caught:
        pack(store, large, ask("discount", **fields))
    assert message in caught.value.message
    assert caught.value.remedy
