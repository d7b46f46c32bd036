"""Markdown by headings: what is a heading, what is not, what stays whole."""

from __future__ import annotations

from markdown_it import MarkdownIt

import kb.chunking
from kb.chunkers import markup

SAMPLE = """\
---
title: front
---

Intro before any heading.

# One

text

```bash
# a comment, no heading
echo "# nor this"
```

Setext two
----------

~~~
# nor in tildes
~~~

### Three ###

- item
---

#### `four` [link](x)
##### Five
###### Six
####### seven is too many
    # indented code
<!--
# in a comment
-->
<pre>
# in pre
</pre>

#no space

| a | b |
|---|---|
| 1 | 2 |

Two line
title
=====
"""


def paths(text: str) -> list[tuple[str, ...]]:
    return list(dict.fromkeys(mark.title for mark in markup.markdown_marks(text.encode())))


def test_headings_of_every_form_and_only_those() -> None:
    assert paths(SAMPLE) == [
        ("front matter",),
        (),
        ("One",),
        ("One", "Setext two"),
        ("One", "Setext two", "Three"),
        ("One", "Setext two", "Three", "four link"),
        ("One", "Setext two", "Three", "four link", "Five"),
        ("One", "Setext two", "Three", "four link", "Five", "Six"),
        ("Two line title",),
    ]


def test_headings_agree_with_a_full_parser() -> None:
    body = SAMPLE.partition("---\n\n")[2]
    tokens = MarkdownIt().parse(body)
    expected = [
        (token.map[0], int(token.tag[1]))
        for token in tokens
        if token.type == "heading_open" and token.map and token.level == 0
    ]
    ours = []
    for mark in markup.markdown_marks(body.encode()):
        if mark.title and (not ours or ours[-1][1] != mark.title):
            ours.append((body.encode()[: mark.start].count(b"\n"), mark.title))
    assert [line for line, _ in ours] == [line for line, _ in expected]


def test_a_fence_with_blank_lines_stays_whole_up_to_the_cap() -> None:
    code = "x = 1\n\n" * 500
    text = f"# Title\n\nbefore\n\n```python\n{code}```\n\nafter\n"
    (fence,) = [c for c in kb.chunking.chunk(text.encode(), name="a.md") if "```python" in c.text]
    assert fence.text == f"```python\n{code}```\n"
    assert fence.language == "python"
    assert fence.title == ("Title",)


def test_a_fence_over_the_cap_is_cut_on_lines_under_its_title() -> None:
    text = "# Title\n\n```\n" + "a line of code\n" * 1000 + "```\n"
    chunks = kb.chunking.chunk(text.encode(), name="a.md").chunks
    assert len(chunks) > 3
    assert {chunk.title for chunk in chunks} == {("Title",)}
    assert all(chunk.text.endswith("\n") for chunk in chunks)


def test_a_table_stays_whole() -> None:
    rows = "".join(f"| row {n} | value |\n" for n in range(120))
    text = f"# T\n\n{'words ' * 200}\n\n{rows}\n{'words ' * 200}\n"
    assert any(
        chunk.text.count("| row") == 120 for chunk in kb.chunking.chunk(text.encode(), name="a.md")
    )


def test_sections_of_the_same_title_are_chunks_of_their_own() -> None:
    section = "# Same\n\n" + "text of some length here. " * 30 + "\n\n"
    assert len(kb.chunking.chunk((section * 3).encode(), name="a.md")) == 3


def test_small_neighbours_share_a_chunk_and_a_title() -> None:
    (chunk,) = kb.chunking.chunk(b"# A\n\n## B\n\nb\n\n## C\n\nc\n", name="a.md")
    assert chunk.title == ("A", "B, C")
