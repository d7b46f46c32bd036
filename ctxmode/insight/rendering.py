"""From a page's data to HTML: every text escaped, and without secrets.

Templates have no scripts and no styles of their own. Data is redacted as a whole before a template
sees it, as answers to agents are.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from functools import cache
from time import gmtime, strftime
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ctxmode.insight.model import Asked, Page
from ctxmode.insight.reading import Reader
from ctxmode.operations.usage import DAY_S
from ctxmode.render import highlight, usage_table
from ctxmode.render.highlight import harmless
from ctxmode.render.redaction import describe_redactions, redact_answer

NOTHING = "\N{EN DASH}"


def render_body(page: Page, reader: Reader, asked: Asked, *, in_file: bool = False) -> Markup:
    """Render what one page shows, and what of it could not be read. A page `in_file` has no links
    to others."""
    found = {"d": page.build(reader, asked), "problems": reader.problems}
    _, clean = redact_answer("", found)
    hidden = describe_redactions(clean["redactions"]) if "redactions" in clean else ""
    template = _environment().get_template(f"{page.name}.html")
    text = template.render(
        d=clean["d"], problems=clean["problems"], hidden=hidden, page=page, in_file=in_file
    )
    return Markup(text)  # noqa: S704 - a template's, in which everything is escaped


def render_page(page: Page, menu: Iterable[Page], body: Markup, project: str) -> str:
    """Render a whole page around its body."""
    template = _environment().get_template("layout.html")
    return template.render(page=page, menu=_list_menu(menu), body=body, project=project)


def render_file(parts: Iterable[tuple[Page, Markup]], project: str, style: str, digest: str) -> str:
    """Render one file with the bodies of many pages. `digest` is that of the style, by which the
    file's own policy knows it."""
    template = _environment().get_template("file.html")
    style = Markup(style)  # noqa: S704 - this package's own
    return template.render(
        parts=list(parts), project=project, style=style, digest=digest, at=time.time()
    )


def render_words(title: str, words: str, menu: Iterable[Page], project: str) -> str:
    """Render a page that only says something, such as that an address is of nothing."""
    template = _environment().get_template("words.html")
    body = Markup(template.render(title=title, words=words))  # noqa: S704 - as above
    return render_page(Page("", title, lambda _reader, _asked: {}), menu, body, project)


def _list_menu(pages: Iterable[Page]) -> list[Page]:
    return [page for page in pages if not page.menu]


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("ctxmode.insight"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_show,
    )
    environment.filters |= {
        "size": lambda count: NOTHING if count is None else usage_table.describe_kept(count),
        "tokens": usage_table.describe_tokens,
        "number": lambda count: NOTHING if count is None else f"{count:,}",
        "percent": lambda share: NOTHING if share is None else f"{share:.1%}",
        "seconds": _seconds,
        "when": _when,
        "day": lambda day: strftime("%Y-%m-%d", gmtime(day * DAY_S)),
        "ago": lambda at: NOTHING if at is None else f"{highlight.age(time.time() - at)} ago",
        "word": lambda text: str(text).replace("_", " "),
        "query": _query,
    }
    return environment


def _show(value: object) -> object:
    """Show no control characters, and a dash where nothing is known."""
    if value is None or value == "":
        return NOTHING if value is None else ""
    return value if isinstance(value, Markup) or not isinstance(value, str) else harmless(value)


def _seconds(seconds: float | None) -> str:
    if seconds is None:
        return NOTHING
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _when(at: float | None) -> str | Markup:
    """Write a time of UTC as an element that programs read, too."""
    if at is None:
        return NOTHING
    try:
        parts = gmtime(at)
    except (ValueError, OverflowError, OSError):
        return NOTHING
    full, short = strftime("%Y-%m-%dT%H:%M:%SZ", parts), strftime("%Y-%m-%d %H:%M", parts)
    return Markup('<time datetime="{}">{}</time>').format(full, short)


def _query(values: Mapping[str, Any]) -> str:
    return urlencode({name: str(value) for name, value in values.items()})
