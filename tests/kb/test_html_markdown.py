"""Pages as Markdown: headings, code and tables kept, clutter left out, hostile ones survived."""

from __future__ import annotations

import pytest

from kb.html_markdown import to_markdown


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<header><h1>Guide</h1></header><p>Read it.", "# Guide\n\nRead it."),
        ("<h2>A <em>b</em><a class=headerlink href=#a>¶</a></h2>", "## A *b*"),
        (
            '<pre><code class="language-python">def f():\n    return "&lt;x&gt;"\n</code></pre>',
            '```python\ndef f():\n    return "<x>"\n```',
        ),
        (
            '<div class="highlight-js"><div class=highlight><pre><span>a</span> = 1;\nb();</pre>',
            "```js\na = 1;\nb();\n```",
        ),
        ('<pre data-lang="rust"><code>fn main() {}</code></pre>', "```rust\nfn main() {}\n```"),
        ("<pre>a ``` b</pre>", "````\na ``` b\n````"),
        (
            "<table><tr><td class=linenos><pre>1\n2</pre></td><td class=code><pre>x\ny</pre></td>"
            "</tr></table>",
            "```\nx\ny\n```",
        ),
        (
            "<table><tr><th>name</th><th>B|C</th></tr><tr><td>1</td><td>2</td></tr></table>",
            "| name | B\\|C |\n| --- | --- |\n| 1 | 2 |",
        ),
        ("<ul><li>one<pre>x\n y</pre></li></ul>", "- one\n\n  ```\n  x\n   y\n  ```"),
        ("<nav>menu</nav><script>x</script><style>y</style><p>z</p><footer>f</footer>", "z"),
        ("<p>a &lt; b &amp; __init__ * 5", "a < b & __init__ * 5"),
        ("", ""),
    ],
)
def test_what_a_page_says_is_kept(html, expected):
    assert to_markdown(html).strip() == expected


def test_relative_links_are_resolved_where_the_address_is_known():
    html = '<a href="c/d.html">x</a>'
    assert to_markdown(html, base_url="https://h.example/a/b") == (
        "[x](https://h.example/a/c/d.html)\n"
    )
    assert to_markdown(html) == "[x](c/d.html)\n"


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * 100_000 + "needle" + "</div>" * 100_000,
        "<ul><li>" * 20_000 + "needle",
        "<b>" * 20_000 + "needle",
        "<table><tr><td>" * 5_000 + "needle",
        "<" * 500_000 + " needle",
        "<p>needle" * 50_000,
        "<div>" * 400 + "<p>needle" * 20_000,
    ],
    ids=["divs", "lists", "unclosed", "tables", "brackets", "paragraphs", "deep and wide"],
)
def test_hostile_nesting_ends_and_keeps_its_text(html):
    assert "needle" in to_markdown(html)


def test_a_page_that_the_converter_gives_up_on_becomes_its_text():
    html = "<div>" * 450 + "<p>the whole of a long sentence that must not be lost</p>"
    assert "must not be lost" in to_markdown(html)
