"""A Markdown file becomes facts by its headings; the same file again writes nothing."""

from __future__ import annotations

import pytest

from memory.errors import BadInputError
from memory.facts.priming import prime, split_sections
from memory.facts.restoring import check_store
from memory.facts.writing import remember
from tests.memory.facts.stores import PERSON, draft, ledger, open_facts, standing

README = """\
Before all.

# Set up

Run the *script*.

```
# no heading
## none either
```

Deploying
---------
On Tuesdays.

### With care
Below level two.

## Set up
Again.
"""
ROOT = "/memory/primed/README.md/"


@pytest.fixture
def store(tmp_path):
    with open_facts(tmp_path) as opened:
        yield opened


def fill(store, text, **options):
    given = {"source": "README.md", "title": "README.md", "author": PERSON}
    return prime(store, text, **{**given, **options})


def test_x2_a_file_is_split_at_its_headings_of_two_levels_and_both_forms(store):
    primed = fill(store, README)
    found = {fact.path.removeprefix(ROOT): (fact.title, fact.text) for fact in standing(store)}
    assert found == {
        "readmemd": ("README.md", "Before all."),
        "set-up": ("Set up", "Run the *script*.\n\n```\n# no heading\n## none either\n```"),
        "deploying": ("Deploying", "On Tuesdays.\n\n### With care\nBelow level two."),
        "set-up-2": ("Set up", "Again."),
    }
    assert sorted(primed.added) == sorted(ROOT + slug for slug in found)
    assert (primed.changed, primed.removed, primed.same) == ((), (), ())


def test_x2_the_same_file_again_writes_nothing(store):
    first = fill(store, README)
    rows = len(ledger(store))
    again = fill(store, README.replace("\n", "\r\n"))
    assert (again.added, again.changed, again.removed) == ((), (), ())
    assert again.same == first.added
    assert len(ledger(store)) == rows


def test_x2_a_changed_file_tells_what_was_added_changed_and_removed(store):
    fill(store, README)
    own = remember(store, draft("A person's own", path=ROOT + "own"), PERSON)
    text = README.replace("Tuesdays", "Fridays").replace("Before all.", "") + "## New\nAdded.\n"
    primed = fill(store, text)
    assert primed.added == (ROOT + "new",)
    assert primed.changed == (ROOT + "deploying",)
    assert primed.removed == (ROOT + "readmemd",)
    assert primed.same == (ROOT + "set-up", ROOT + "set-up-2")
    assert own.path in [fact.path for fact in standing(store)]
    assert check_store(store) == ()


def test_x2_priming_with_a_pin_moves_a_source_to_the_pinned(store):
    fill(store, README)
    primed = fill(store, README, is_pinned=True)
    assert all(fact.is_pinned for fact in standing(store))
    assert {fact.path.rpartition("/")[0] for fact in standing(store)} == {
        "/memory/pinned/README.md"
    }
    assert len(primed.added) == len(primed.removed) == 4
    assert fill(store, README, is_pinned=True).same == primed.added


SPLITS = {
    "a fence of tildes": ("# A\n~~~\n# no\n~~~\n", ["A"]),
    "a fence that is never closed": ("# A\n```\n# no\n", ["A"]),
    "an indented block": ("# A\n\n    # no\n", ["A"]),
    "a list and a quotation": ("# A\n- # no\n\n> ## no\n", ["A"]),
    "no blank after the mark": ("# A\n#no\n", ["A"]),
    "closing marks": ("# A #\nx\n## B ##\ny\n", ["A", "B"]),
    "marks and a link in a heading": ("# *A* `b` [c](d) <i>e</i>\nx\n", ["A b c e"]),
    "both setext forms": ("A\n===\nx\n\nB\n---\ny\n", ["A", "B"]),
    "a line across": ("# A\nx\n\n---\n\ny\n", ["A"]),
    "a comment": ("# A\n<!--\n# no\n-->\nx\n", ["A"]),
    "front matter": ("---\ntitle: x\n---\n# A\nx\n", ["A"]),
    "a heading that only holds others": ("# All\n## A\nx\n## B\ny\n", ["A", "B"]),
    "a heading that says it all": ("## Never push to main\n## B\ny\n", ["Never push to main", "B"]),
    "no heading": ("only text", ["file"]),
    "deep headings alone": ("### A\nx\n", ["file"]),
    "carriage returns": ("# A\rx\r# B\ry", ["A", "B"]),
}


@pytest.mark.parametrize("name", SPLITS)
def test_what_is_no_heading_splits_nothing(name):
    text, titles = SPLITS[name]
    assert [title for _, title, _ in split_sections(text, "file")] == titles


@pytest.mark.parametrize(
    ("headings", "slugs"),
    [
        (["A", "A", "A-2", "A"], ["a", "a-2", "a-2-2", "a-3"]),
        (["A-2", "A", "A"], ["a-2", "a", "a-3"]),
        (["A & B", "What's new?", "ÄÖ"], ["a--b", "whats-new", "äö"]),
        (["!!!", "🚀", "語"], ["section", "section-2", "語"]),
    ],
)
def test_slugs_are_those_of_github_and_never_the_same(store, headings, slugs):
    fill(store, "".join(f"# {heading}\ntext of {n}\n" for n, heading in enumerate(headings)))
    by_text = sorted((fact.text, fact.path.rpartition("/")[2]) for fact in standing(store))
    assert [slug for _, slug in by_text] == slugs


@pytest.mark.parametrize(
    ("source", "part"),
    [("docs/README.md", "docs-README.md"), ("../../x", "x"), ("a b", "a-b"), ("ü.md", "ü.md")],
)
def test_a_source_is_one_part_of_a_path(store, source, part):
    fill(store, "# A\nx", source=source)
    assert standing(store)[0].path == f"/memory/primed/{part}/a"


def test_long_names_fit_and_stay_apart(store):
    fill(store, f"# {'語' * 300}\nx", source="語" * 100 + "1")
    fill(store, f"# {'語' * 300}\ny", source="語" * 100 + "2")
    assert len(standing(store)) == 2


def test_what_is_private_or_secret_stays_out_also_across_headings(store):
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    text = f"# A\nseen <private>hidden\n# B\nhidden too</private> shown\n# C\n{token}\n"
    primed = fill(store, text)
    kept = " ".join(change.title + change.text for change in ledger(store))
    assert "hidden" not in kept
    assert token not in kept
    assert "seen" in kept
    assert primed.redactions == 1


WRONG = {
    "nothing": {"text": ""},
    "blanks": {"text": "\n \n"},
    "what nobody sees": {"text": "\x00\u200b\ud800"},
    "a list": {"text": ["# A"]},
    "2 MiB": {"text": "# A\n" + "a" * (2 << 20)},
    "a section that is too long": {"text": "# A\nx\n# Long\n" + "a " * 10_000},
    "many sections": {"text": "# A\nx\n" * 3000},
    "a source that is none": {"source": "../.."},
    "a source that is a list": {"source": ["x"]},
    "a title that is none": {"title": None},
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_primed_is_refused_and_leaves_all_as_it_was(store, name):
    fill(store, README)
    before = ledger(store)
    with pytest.raises(BadInputError) as refused:
        fill(store, **{"text": "# A\nx", **WRONG[name]})
    assert refused.value.remedy
    assert ledger(store) == before


def test_the_section_that_is_too_long_is_named(store):
    with pytest.raises(BadInputError, match="'Long'"):
        fill(store, WRONG["a section that is too long"]["text"])


@pytest.mark.parametrize("mark", ["> ", "- ", "[", "*a ", "<a", "`a", "![", "\\", "&#", "|"])
def test_marks_a_hundred_thousand_deep_are_read_in_bounded_work(store, mark):
    text = "# A\n" + (mark * 100_000)[:15_000] + "\n\n## " + mark * 10_000 + "x\nend\n"
    assert fill(store, text).added
