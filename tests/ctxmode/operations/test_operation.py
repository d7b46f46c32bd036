"""What the signature of an operation gives to the doors."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal

import pytest

from ctxmode.commands.operations import build_table
from ctxmode.errors import UsageError
from ctxmode.operations.operation import (
    Answer,
    Arg,
    Asker,
    TextFile,
    describe_operation,
    list_answers,
    list_parameters,
    take_arguments,
)
from ctxmode.parsing import Parser, add_actions

NO_FIELDS: Mapping[str, Any] = MappingProxyType({})


def mark_page(
    asker: Asker,
    slug: Annotated[str, Arg("which one", "SLUG", name="page")],
    notes: Annotated[tuple[str, ...], Arg(metavar="NOTE")] = (),
    *,
    kind: Annotated[Literal["idea", "plan"] | Literal[""], Arg("its kind")] = "",
    limit: Annotated[int, Arg("at most", "N", least=1)] = 5,
    tags: Annotated[tuple[str, ...], Arg("a word", "WORD", ("--tag", "-t"))] = (),
    dry: Annotated[bool, Arg("only look", one_of="how")] = False,
    hard: Annotated[bool, Arg("look away", one_of="how")] = False,
    part: Annotated[str, Arg(constants={"head": "its head", "tail": "its tail"})] = "",
    more: Annotated[Mapping[str, Any], Arg("", "NAME=VALUE", ("--field",))] = NO_FIELDS,
) -> Answer:
    """Mark a page, as it
    is.

    More of it.
    """
    return Answer({"slug": slug})


def read_page(asker: Asker, file: Annotated[TextFile, Arg("- is stdin", "FILE")]) -> Iterator:
    """Read a page."""
    yield Answer({"n": 1})
    yield Answer({"n": 2})


@pytest.fixture
def parser() -> Parser:
    parser = Parser(prog="context-mode try-out")
    add_actions(parser, build_table({"mark": mark_page, "read": read_page}))
    return parser


DEFAULTS = {
    "slug": "a", "notes": (), "kind": "", "limit": 5, "tags": [], "dry": False, "hard": False,
    "part": "", "more": [], "json": False, "action": "mark",
}  # fmt: skip


@pytest.mark.parametrize(
    ("line", "given"),
    [
        ("mark a", {}),
        ("mark a b c --kind plan", {"notes": ["b", "c"], "kind": "plan"}),
        ("mark a -t x --tag y --limit 2", {"tags": ["x", "y"], "limit": 2}),
        ("mark a --kind= --field x=1 --field y=", {"more": ["x=1", "y="]}),
        ("mark a --tail --dry --json", {"part": "tail", "dry": True, "json": True}),
    ],
)
def test_a_command_line_has_the_parameters(parser, line, given):
    parsed = parser.parse_args(line.split())
    assert parsed == argparse.Namespace(**DEFAULTS | given)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("mark", "SLUG"),
        ("mark a --kind nope", "invalid --kind 'nope'"),
        ("mark a --limit 0", "1 or more"),
        ("mark a --dry --hard", "exclude each other"),
    ],
)
def test_a_command_line_that_does_not_fit_is_refused(parser, line, problem):
    with pytest.raises(UsageError, match=problem):
        parser.parse_args(line.split())


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ({"page": "a"}, {"slug": "a"}),
        ({"page": "a", "limit": "7", "tags": ["x"]}, {"slug": "a", "limit": 7, "tags": ("x",)}),
        ({"page": "a", "other": 1}, {"slug": "a"}),
        ({"page": "a", "more": {"x": [1]}}, {"slug": "a", "more": {"x": [1]}}),
    ],
)
def test_other_doors_give_the_same_arguments_checked(given, taken):
    assert take_arguments(mark_page, given) == taken


def test_other_doors_give_the_text_of_a_file():
    assert take_arguments(read_page, {"file": "a"}) == {"file": TextFile("", "a")}


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({}, "page is missing"),
        ({"page": "a", "kind": "nope"}, "kind has a wrong value"),
        ({"page": "a", "limit": "many"}, "limit has a wrong value"),
        ({"page": "a", "limit": "9" * 40}, "limit has a wrong value"),
        ({"page": ["a"]}, "page has a wrong value"),
    ],
)
def test_what_another_door_gives_wrong_is_named(given, problem):
    with pytest.raises(UsageError, match=problem):
        take_arguments(mark_page, given)


def test_the_help_is_the_first_sentence_of_the_docstring():
    assert describe_operation(mark_page) == "mark a page, as it is"


def test_an_operation_has_one_answer_or_several(tmp_path):
    answers = [
        *list_answers(read_page(None, TextFile("a", ""))),
        *list_answers(mark_page(None, "a")),
    ]
    assert [one.data for one in answers] == [{"n": 1}, {"n": 2}, {"slug": "a"}]


def test_choices_are_the_words_of_a_literal():
    of = {one.name: one for one in list_parameters(mark_page)}
    assert of["kind"].choices == ("idea", "plan")
    assert (of["slug"].outer_name, of["limit"].outer_name) == ("page", "limit")
