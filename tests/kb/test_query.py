"""Which words a query asks for: names by their parts, and mistyped ones by what was meant."""

from __future__ import annotations

import pytest

from kb.query import drop_mistyped_parts, parse


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("where is getUserName", ("getUserName", "get", "user", "name")),
        ("isValidUser", ("isValidUser", "valid", "user")),  # a part that is a stop word
        ("user of getUserName", ("user", "getUserName", "get", "name")),
        ("User of getUserName", ("User", "getUserName", "get", "name")),
        ("streams APIs", ("streams", "APIs")),
        ("bitwise ORed IDs", ("bitwise", "ORed", "IDs")),
    ],
)
def test_names_are_asked_for_by_their_parts_as_well(text: str, terms: tuple[str, ...]) -> None:
    assert parse(text).terms == terms


@pytest.mark.parametrize(
    ("text", "found", "terms", "left"),
    [
        # Its parts are none of a name, and mean nothing.
        ("ALTER SERuER", {"SERuER": ("server",), "ru": ("rue",)},
         ("alter", "SERuER"), {"SERuER": ("server",)}),
        # Its parts make up what was meant; other corrections of them do not.
        ("setTimout", {"setTimout": ("settimeout",), "timout": ("timeouts", "timeout")},
         ("setTimout", "set", "timout"), {"setTimout": ("settimeout",), "timout": ("timeout",)}),
        # A part that was typed by itself stays.
        ("object PyyTpeObject", {"PyyTpeObject": ("pytypeobject",)},
         ("object", "PyyTpeObject"), {"PyyTpeObject": ("pytypeobject",)}),
        # A name that is right keeps parts that nothing has.
        ("getUserNmae", {"nmae": ("name",)},
         ("getUserNmae", "get", "user", "nmae"), {"nmae": ("name",)}),
    ],
)  # fmt: skip
def test_parts_of_a_mistyped_name_count_as_far_as_they_make_up_what_was_meant(
    text: str, found: dict, terms: tuple[str, ...], left: dict
) -> None:
    query, corrections = drop_mistyped_parts(parse(text), found)
    assert query.terms == terms
    assert dict(corrections) == left
