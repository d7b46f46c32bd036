"""What a push says of pages that were changed on both sides, and how to bring them together."""

from __future__ import annotations

import json
from collections.abc import Sequence

from memory.gate import FindSecrets
from memory.pages.checking import with_fields
from memory.pages.directives import Drifted
from memory.pages.drift import Standing
from memory.pages.framing import DIRECTIVE_BYTES_MAX, QUOTED, Framer
from memory.pages.frontmatter import render_page, try_parse
from memory.pages.repository import Repository
from memory.pages.section_merging import merge_sections
from memory.texts import size_bytes

SHOWN_MAX = 8
_HEAD_BYTES = 1536


def describe_drift(repository: Repository, standing: Standing) -> Drifted:
    """Return the three texts of a page that was changed on both sides."""
    draft = standing.draft
    base, theirs = repository.read_objects([standing.base, standing.head])
    return Drifted(
        draft.path,
        draft.slug,
        draft.type,
        standing.parent,
        repository.last_commit(draft.path),
        base,
        render_page(draft.committed),
        theirs,
    )


def merge_directive(drifted: Sequence[Drifted], *, find_secrets: FindSecrets) -> str:
    """Return what to do about pages that were changed on both sides, within 32 KiB."""
    framer = Framer(find_secrets)
    share = (DIRECTIVE_BYTES_MAX - 512) // min(len(drifted), SHOWN_MAX)
    blocks = [_block(framer, one, share) for one in drifted[:SHOWN_MAX]]
    left = len(drifted) - len(blocks)
    if left:
        blocks.append(f"{left} more pages were changed on both sides; push again to see them.\n")
    return "".join(blocks)


def _block(framer: Framer, one: Drifted, share: int) -> str:
    theirs = one.theirs.sha if one.theirs else ""
    call = {
        "action": "write",
        "type": one.type,
        "slug": one.slug,
        "text": "…",
        "fields": {"parent_sha": theirs},
        "force": True,
    }
    what = "changed" if one.upstream is not None else "removed"
    lines = [
        f"Nothing was committed: {one.type}/{one.slug} was {what} since the version that its draft "
        f"is upon. {QUOTED}\n"
    ]
    if one.theirs:
        lines.append(framer.quote(f"{one.theirs.author}: {one.theirs.subject}", 600))
    if one.upstream is None:
        lines.append("To leave it removed, delete the draft. To bring it back:\n")
    else:
        lines.append("Write a page that has what both sides say, then push again:\n")
    lines.append(f"   ctx_pages {json.dumps(call, ensure_ascii=False)}\n")
    left = share - _HEAD_BYTES
    if one.upstream is None:
        lines.append(f"mine:\n{framer.quote(one.mine, left)}")
    else:
        lines += _merge(framer, one, theirs, left)
    attributes = f"slug={one.slug} base={one.base_sha} theirs={theirs}"
    return framer.frame("MERGE_REQUIRED", attributes, "".join(lines))


def _merge(framer: Framer, one: Drifted, theirs: str, bytes_max: int) -> list[str]:
    """Return the conflicts, and the text in which everything else is merged."""
    merged = merge_sections(one.base or "", one.mine, one.upstream or "")
    page = try_parse(merged.text)
    text = merged.text if page is None else render_page(with_fields(page, parent_sha=theirs))
    told = [
        (
            f"field {conflict.field}"
            if conflict.field
            else conflict.heading or "text before the first"
        )
        for conflict in merged.conflicts
    ]
    lines = [f"Sections and fields in conflict: {len(told)}\n"]
    share = bytes_max // 2 // max(len(told), 1)
    for name, conflict in zip(told, merged.conflicts, strict=True):
        sides = (("base", conflict.base), ("mine", conflict.mine), ("theirs", conflict.theirs))
        quoted = [f"{side}:\n{framer.quote(said, share // 3 - 32)}" for side, said in sides]
        block = [framer.quote(name, 300), *quoted]
        if sum(map(size_bytes, [*lines, *block])) > bytes_max // 2:
            lines.append("The conflicts that follow are not shown.\n")
            break
        lines += block
    lines.append("All else merged; of a section in conflict both sides stand in it:\n")
    left = bytes_max - sum(map(size_bytes, lines))
    lines.append(framer.quote(text, left - 256))
    if size_bytes(text) > left - 256:
        call = json.dumps({"action": "read", "slug": f"{one.type}/{one.slug}", "from": theirs})
        lines.append(f"It is longer than can be shown; read theirs with: ctx_pages {call}\n")
    return lines
