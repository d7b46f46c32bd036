"""What images are called: the same for the same content, another for any other."""

import re

import pytest

from images import groups
from images.groups import GROUPS


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.name)
def test_a_name_is_local_and_tells_group_and_content(group):
    assert re.fullmatch(
        rf"localhost/context-mode/{group.name}:[0-9a-f]{{16}}", groups.reference(group)
    )


def test_every_group_has_a_name_of_its_own():
    assert len({groups.reference(group) for group in GROUPS}) == len(GROUPS)


def test_the_image_is_named_after_more_than_its_toolchains():
    group = GROUPS[0]
    assert groups.reference(group) != groups.toolchains_reference(group)


@pytest.mark.parametrize(
    "other",
    [{"a": b"One", "b": b"two"}, {"c": b"one", "b": b"two"}, {"a": b"onet", "b": b"wo"}, {}],
)
def test_a_digest_changes_with_every_name_and_content(other):
    assert groups.digest_entries(other) != groups.digest_entries({"a": b"one", "b": b"two"})


def test_a_digest_is_the_same_in_any_order():
    assert groups.digest_entries({"a": b"1", "b": b"2"}) == groups.digest_entries(
        {"b": b"2", "a": b"1"}
    )
