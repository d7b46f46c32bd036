"""Who wrote a section, through its renames, and how that is shown (C16, C17)."""

from __future__ import annotations

import json

from memory.pages.evolution import blame_sections, with_blame
from memory.pages.model import Commit
from memory.pages.section_diff import LINES_MAX, compare_texts, diff_json, diff_text

LONG = "one two three four five six seven eight nine ten"
DAY = 86400.0


def commit(name: str, day: int) -> Commit:
    return Commit(name * 40, f"author-{name}", day * DAY, "subject")


def page(*sections: tuple[str, str]) -> str:
    return "---\nslug: s\n---\n" + "".join(f"## {name}\n\n{body}\n\n" for name, body in sections)


ONE, TWO, THREE, FOUR = (commit(name, day) for day, name in enumerate("abcd"))
VERSIONS = [
    (ONE, page(("Retry", LONG))),
    (TWO, page(("Retry policy", LONG), ("Other", "x"))),
    (THREE, page(("Retry policy", LONG.replace("ten", "11")), ("Other", "x"))),
    (FOUR, page(("Other", "x\n"), ("Retry policy", LONG.replace("ten", "11")))),
]


def test_c16_a_section_is_blamed_on_the_commit_that_it_came_with_through_renames():
    found = {one.heading: one for one in blame_sections(VERSIONS)[-1]}
    retry, other = found["Retry policy"], found["Other"]
    assert (retry.introduced_by, retry.heading_since, retry.changed_by) == (ONE, TWO, THREE)
    assert (other.introduced_by, other.heading_since, other.changed_by) == (TWO, TWO, TWO)
    assert blame_sections(VERSIONS) == blame_sections(VERSIONS)
    assert blame_sections([]) == []
    broken = [*VERSIONS[:1], (TWO, "---\na: [\n---\n"), *VERSIONS[2:]]
    assert {one.introduced_by for one in blame_sections(broken)[-1]} == {ONE, THREE}


def test_c17_text_and_json_say_what_changed_and_who_wrote_it():
    old, new = VERSIONS[1][1], VERSIONS[2][1].replace("slug: s", "slug: s\ntags: [t]")
    diff = compare_texts("s", old, new, from_sha=TWO.sha, to_sha=THREE.sha)
    diff = with_blame(diff, [VERSIONS[0], VERSIONS[1], (THREE, new)])
    text = diff_text(diff, now=5 * DAY)
    assert "diff: s   bbbbbbb..ccccccc" in text
    assert "  + tags: t\n" in text
    assert (
        "  ~ Retry policy (2 lines changed) — introduced by aaaaaaa (author-a, 5d ago), "
        "heading since bbbbbbb (author-b, 4d ago), changed by ccccccc (author-c, 3d ago)\n"
        f"      - {LONG}\n      + {LONG.replace('ten', '11')}\n"
    ) in text
    assert "  = Other — introduced by bbbbbbb (author-b, 4d ago)\n" in text
    found = json.loads(json.dumps(diff_json(diff)))
    assert found["frontmatter"] == {"added": [{"field": "tags", "to": "t"}]}
    retry, other = found["sections"]
    assert (retry["status"], retry["from"], retry["introduced_by"]["sha"]) == (
        "modified",
        LONG,
        ONE.sha,
    )
    assert (other["status"], "from" in other, other["introduced_by"]["sha"]) == (
        "unchanged",
        False,
        TWO.sha,
    )


def test_c16_a_draft_and_what_was_removed_are_blamed_by_the_old_side():
    draft = page(("Retry rules", LONG.replace("ten", "11")), ("New", "n"))
    diff = with_blame(compare_texts("s", VERSIONS[3][1], draft, from_sha=FOUR.sha), VERSIONS)
    found = {one.heading: one.introduced_by for one in diff.sections}
    assert found == {"Retry rules": ONE, "New": None, "Other": TWO}


def test_c17_long_sections_and_hidden_characters_are_shown_bounded():
    new = page(
        ("A\u202e", "\n".join(f"line {at}\x1b[0m" for at in range(500))), ("B", "x" * 10_000)
    )
    text = diff_text(compare_texts("s", "", new), now=0)
    assert f"… {500 - LINES_MAX} more lines" in text
    assert not {"\x1b", "\u202e"} & {*text}
    assert len(text) < 10_000
