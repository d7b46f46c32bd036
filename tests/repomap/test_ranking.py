from __future__ import annotations

import pytest

from repomap import words
from repomap.ranking import rank_by_centrality, rank_files
from repomap.store import read_files
from repomap.words import find_terms, split_names, weigh_terms
from tests.repomap.repositories import APP, commit_all, scan_folder, write_files


@pytest.mark.parametrize(
    ("task", "first"),
    [
        ("Apply the discount twice in the shopping cart", "src/app/cart.py"),
        ("What does an article cost", "src/app/prices.py"),
        ("send_letter fails", "src/app/mail.py"),
        ("test the discount", "tests/test_cart.py"),
        ("Crash in src/app/mail.py", "src/app/mail.py"),
        ("Crash in app.prices.find_price", "src/app/prices.py"),
    ],
)
def test_o6_the_file_that_a_task_is_about_comes_first(store, root, task, first):
    write_files(root, APP)
    scan_folder(store, root)
    assert rank_files(store.db, task)[0].row.path == first


def test_past_commits_find_a_file_that_lacks_the_words(store, root):
    write_files(root, APP)
    commit_all(root, "Begin")
    write_files(root, {"src/app/mail.py": "def send_letter(to):\n    return None\n"})
    commit_all(root, "Stop newsletters for penguins", at=1_700_100_000)
    scan_folder(store, root)
    best = rank_files(store.db, "newsletters for penguins")[0]
    assert best.row.path == "src/app/mail.py"
    assert "commits that changed it mention words of the task" in best.reasons


def test_scores_fall_from_one_and_the_order_is_the_same_each_time(store, root):
    write_files(root, APP)
    scan_folder(store, root)
    ranked = rank_files(store.db, "discount of the cart")
    scores = [one.score for one in ranked]
    assert scores[0] == 1.0
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)
    assert ranked == rank_files(store.db, "discount of the cart")


def test_without_a_task_what_is_imported_most_comes_first(store, root):
    write_files(root, APP)
    scan_folder(store, root)
    ranked = rank_by_centrality(store.db)
    assert ranked[0].row.path == "src/app/prices.py"
    assert len(ranked) == len(APP)
    assert all(one.score > 0 for one in ranked)


def test_what_changed_and_what_depends_on_it_are_reasons(store, root):
    write_files(root, APP)
    scan_folder(store, root)
    extra = {"src/app/prices.py": 1.0, "src/app/cart.py": 0.5}
    ranked = {one.row.path: one for one in rank_files(store.db, "letters", extra=extra)}
    assert "it changed" in ranked["src/app/prices.py"].reasons
    assert "it depends on changed files" in ranked["src/app/cart.py"].reasons


@pytest.mark.parametrize(
    "task", ["", "the of and", '"', "' OR 1", "NEAR(", "日本", "\ud800", "x" * 200_000]
)
def test_a_task_of_any_text_is_ranked_without_failing(store, root, task):
    write_files(root, APP)
    scan_folder(store, root)
    rank_files(store.db, task)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        (
            "HTTPServerError in parse_file",
            ("http", "server", "error", "parse", "file", "httpservererror"),
        ),
        ("the cart is of 12", ("cart",)),
        ("", ()),
    ],
)
def test_names_are_split_and_kept_whole(text, terms):
    assert find_terms(text) == terms


def test_splitting_names_keeps_the_words_between():
    assert split_names("a getHTTPValue b").split() == [
        "a",
        "get",
        "HTTP",
        "Value",
        "b",
        "getHTTPValue",
    ]


def test_links_over_the_most_cost_the_names_of_the_most_definers(store, root, monkeypatch):
    shared = "def sharedName():\n    return 1\n\n\n"
    write_files(root, {
        **{f"s{n}.py": shared for n in range(4)},
        "own.py": "def ownName():\n    return 1\n",
        **{f"user{n}.py": "x = [sharedName(), ownName()]\n" for n in range(10)},
    })  # fmt: skip
    scan_folder(store, root)
    assert set(words._find_definers(store.db)) == {"sharedName", "ownName"}
    monkeypatch.setattr(words, "LINKS_MAX", 20)
    assert set(words._find_definers(store.db)) == {"ownName"}
    assert rank_by_centrality(store.db)[0].row.path == "own.py"


def test_a_word_weighs_more_the_more_often_the_task_says_it_and_most_in_the_title():
    weights = weigh_terms("Carts\n\nprices of letters, letters, findLetters and findPrices.\nfee")
    assert weights["carts"] > weights["letters"] > weights["prices"] > weights["fee"] == 1.0
    assert weigh_terms("a\n" + "word " * 10_000)["word"] < 9


def test_what_a_task_keeps_speaking_of_comes_before_what_it_says_once(store, root):
    write_files(root, {"one.py": "fee = 1\n", "two.py": "tax = 1\n", "three.py": "pass\n"})
    scan_folder(store, root)
    task = "Wrong sum\n\nIt is the {0}. The {0} is {0} twice, not {1}."
    assert rank_files(store.db, task.format("tax", "fee"))[0].row.path == "two.py"
    assert rank_files(store.db, task.format("fee", "tax"))[0].row.path == "one.py"


def test_recency_counts_from_head_whatever_another_commit_says(store, root):
    write_files(root, {"future.py": "x = 1\n"})
    commit_all(root, "By a clock that was wrong", at=4_000_000_000)
    write_files(root, {"old.py": "x = 1\n"})
    commit_all(root, "Long ago", at=1_600_000_000)
    write_files(root, {"new.py": "x = 1\n"})
    commit_all(root, "Now", at=1_700_000_000)
    scan_folder(store, root)
    ids = {path: row.id for path, row in read_files(store.db).items()}
    rated = words.rate_recency(store.db)
    assert rated[ids["new.py"]] == rated[ids["future.py"]] == 1
    assert 0 < rated[ids["old.py"]] < 0.01
