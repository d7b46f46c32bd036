"""What images are called: the same for the same content, another for any other."""

import re

import pytest

from images import naming
from images.groups import GROUPS


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.name)
def test_a_name_is_local_and_tells_group_and_content(group):
    assert re.fullmatch(
        rf"localhost/context-mode/{group.name}:[0-9a-f]{{16}}", naming.reference(group)
    )


def test_every_group_has_a_name_of_its_own():
    assert len({naming.reference(group) for group in GROUPS}) == len(GROUPS)


def test_the_image_is_named_after_more_than_its_toolchains():
    group = GROUPS[0]
    assert naming.reference(group) != naming.toolchains_reference(group)


@pytest.mark.parametrize("change", ["content", "name", "boundary"])
def test_a_digest_changes_with_every_name_and_content(tmp_path, change):
    first, second = tmp_path / "a", tmp_path / "b"
    first.write_text("one")
    second.write_text("two")
    before = naming.digest(tmp_path, [first, second])
    assert naming.digest(tmp_path, [first, second]) == before
    if change == "content":
        first.write_text("One")
    elif change == "name":
        first = first.rename(tmp_path / "c")
    else:
        first.write_text("onet")
        second.write_text("wo")
    assert naming.digest(tmp_path, [first, second]) != before


def test_what_tools_leave_beside_sources_is_no_content(tmp_path):
    (tmp_path / "__pycache__").mkdir()
    for name in ("a.py", ".a.py.swp", "__pycache__/a.cpython-311.pyc"):
        (tmp_path / name).touch()
    assert list(naming.source_files(tmp_path)) == [tmp_path / "a.py"]
