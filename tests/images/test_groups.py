"""The table of images: every language in one of them, with what the language's own row installs."""

import re

import pytest

import images
import runtimes
from images.groups import GROUPS

ROWS = {row.name: row for row in runtimes.LANGUAGES}


def test_every_language_is_in_exactly_one_group():
    named = [name for group in GROUPS for name in group.languages]
    assert sorted(named) == sorted(ROWS)


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.name)
def test_a_build_installs_what_the_rows_of_its_languages_name(group):
    files = images.groups.for_toolchains(group)
    rows = [ROWS[name] for name in group.languages]
    for manager in ("debian", "npm"):
        wanted = {name for row in rows for name in getattr(row.packages, manager)}
        assert set(files[f"build/packages/{manager}"].decode().split()) == wanted
        named = f"$(cat /build/packages/{manager})"
        assert not wanted or named in files["Dockerfile"].decode()


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.name)
def test_a_dockerfile_installs_python_for_what_works_inside_and_takes_any_base(group):
    text = group.dockerfile.read_text()
    assert re.search(r"^RUN /build/install .*\bpython3\b", text, re.MULTILINE)
    assert "ARG BASE\nFROM ${BASE}" in text


def test_a_language_leads_to_its_group():
    assert images.group_for("typescript").name == "web"


@pytest.mark.parametrize("ask", [images.group, images.group_for])
def test_what_no_image_is_or_runs_is_refused(ask):
    with pytest.raises(images.UnknownGroup, match="cobol"):
        ask("cobol")
