"""Perl programs rewritten so that what they declare at the top is the package's own."""

from __future__ import annotations

from runtimes.toplevel import parse_root


def share_names(code: str) -> str:
    """`my` of a statement at the top level becomes `our`, so that later programs find the name."""
    source = code.encode()
    out, at = [], 0
    for statement in parse_root(source, "perl").children:
        declaration = statement.named_children[0] if statement.named_children else None
        if declaration is not None and declaration.type == "assignment_expression":
            declaration = declaration.child_by_field_name("left")
        if declaration is None or declaration.type != "variable_declaration":
            continue
        keyword = declaration.children[0]
        if keyword.type == "my":
            out += [source[at : keyword.start_byte], b"our"]
            at = keyword.end_byte
    return b"".join([*out, source[at:]]).decode()
