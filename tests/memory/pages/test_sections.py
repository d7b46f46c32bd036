"""Sections are what CommonMark says, and put together they are the page (C14)."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from memory.pages.sections import PARSED_LINES_MAX, plain_lines, split_sections

CASES = (
    ("", []),
    ("text\n", []),
    ("## A\na\n## B\nb\n", ["A", "B"]),
    ("## A ##\n##\n## #\n##\tB\n", ["A", "", "", "B"]),
    ("##A\n# B\n### C\n\\## D\n####### E\n", []),
    ("```\n## A\n```\n## B\n", ["B"]),
    ("~~~~ x\n## A\n~~~\n## B\n~~~~~\n## C\n", ["C"]),
    ("``` a`b\n## A\n", ["A"]),
    ("```\n## A\n", []),
    ("A\n---\na\n\nB\nB\n-\n", ["A", "B B"]),
    ("A\n===\n\n---\n\n- \n", []),
    ("    ## A\n\t## B\n ## C\n   ## D\n", ["C", "D"]),
    ("- ## A\n\n  ## B\n- x\n## C\n", ["C"]),
    ("- x\n---\n- y\nlazy\n---\n", []),
    ("> ## A\n> B\n> ---\n## C\n", ["C"]),
    ("<div>\n## A\n</div>\n\n## B\n", ["B"]),
    ("<!--\n\n## A\n\n-->\n## B\n", ["B"]),
    ("- ```\n## A\n```\n## B\n", ["A"]),
    ("## A\r\na\r\n\r\nB\r\n---\r\n", ["A", "B"]),
    ("## A\ra\r## B", ["A", "B"]),
    ("## 世界\n## Ünï `code` **b**\n", ["世界", "Ünï `code` **b**"]),
    ("a\x0b## A\n\x85## B\n\u2028## C\n", []),
)


def join(found):
    return "".join([found[0], *(one.text for one in found[1])])


@pytest.mark.parametrize(("text", "headings"), CASES)
def test_c14_headings_of_level_two_divide_a_page_and_nothing_else(text, headings):
    found = split_sections(text)
    assert [one.heading for one in found[1]] == headings
    assert join(found) == text


LINES = st.sampled_from(
    [
        "## A",
        "##",
        "## ",
        "### B",
        "# C",
        "  ## D",
        "    ## E",
        "text",
        "--- ",
        "-",
        "- x",
        "-   y",
        "  z",
        "   w",
        "    v",
        "> q",
        "> - r",
        ">",
        "1. o",
        "===",
        "```",
        "~~~",
        "````",
        "  ```",
        "``` a`",
        "<div>",
        "</div>",
        "<!--",
        "-->",
        "<pre>",
        "</pre>",
        "",
        "\t",
        "[a]: b",
        "* * *",
        "- ```",
        "<?",
        "?>",
        "<a>",
        "\\",
        "- > x",
        "lazy",
    ]
)


@given(st.lists(LINES, max_size=14), st.sampled_from(["\n", "\r\n", "\r"]), st.booleans())
@example(["- x", "", "  ## D"], "\n", True)
@example(["<!--", "## A", "-->", "## B"], "\r\n", False)
def test_c14_whatever_the_lines_the_parser_of_commonmark_agrees(lines, end, ends):
    text = end.join(lines) + (end if ends else "")
    found = split_sections(text)
    assert join(found) == text
    tokens = MarkdownIt("commonmark").parse(plain_lines(text))
    wanted = [
        tuple(one.map)
        for one in tokens
        if one.type == "heading_open" and one.tag == "h2" and not one.level
    ]
    got, offset = [], len(found[0])
    for one in found[1]:
        first = plain_lines(text[:offset]).count("\n")
        got.append((first, first + max(plain_lines(one.head).rstrip("\n").count("\n") + 1, 1)))
        offset += len(one.text)
    assert got == wanted


@given(st.text(st.sampled_from("#- \n\r\t`~<>!a\0\u2028\ud800"), max_size=80))
def test_c14_whatever_the_text_its_parts_put_together_give_it(text):
    found = split_sections(text)
    assert join(found) == text


@pytest.mark.parametrize("unit", ["- \n<a\n", "a\n-\n", "> ## a\n", "<\n## a\n", "1. a\n  ## a\n"])
def test_the_parser_reads_a_bounded_part_of_a_page(unit):
    text = unit * (1 << 18)
    found = split_sections(text)
    assert join(found) == text
    assert len(found[1]) <= PARSED_LINES_MAX * 4
