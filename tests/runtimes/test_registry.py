"""The table of languages, row by row."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from runtimes.languages import list_languages
from runtimes.registry import LANGUAGES, UnknownLanguage, language, language_for_file

each_row = pytest.mark.parametrize("row", LANGUAGES, ids=lambda row: row.name)

PLACEHOLDERS = {"source", "source.root", "out", "entry", "job", "scratch", "cwd"}
GROUPS = {"args", "prelude", "bind", "project", "packages"}


def test_a_row_of_every_folder_is_in_its_place():
    assert {row.name for row in LANGUAGES} == set(list_languages("install.toml"))
    assert list(LANGUAGES) == sorted(LANGUAGES, key=lambda row: (row.order, row.name))


def test_names_and_aliases_lead_to_one_row_each():
    names = Counter(name for row in LANGUAGES for name in {row.name, *row.aliases})
    assert [name for name, count in names.items() if count > 1] == []


def test_extensions_and_interpreters_lead_to_one_row_each():
    extensions = Counter(e for row in LANGUAGES for e in {e.lower() for e in row.extensions})
    interpreters = Counter(i for row in LANGUAGES for i in row.interpreters)
    assert [name for name, count in (extensions | interpreters).items() if count > 1] == []


@each_row
def test_a_row_is_complete(row):
    assert row.title
    assert row.grammar
    assert row.toolchains
    assert row.packages.debian
    assert all((row.packages.fedora, row.packages.arch, row.packages.brew, row.packages.windows))
    assert all(re.fullmatch(r"\.\w\S*", extension) for extension in row.extensions)
    assert all(name == name.lower() for name in (row.name, *row.aliases))
    assert row.source_name.endswith(tuple(row.extensions))


@each_row
def test_the_hello_program_carries_what_it_prints(row):
    assert row.hello_output.startswith("hello from ")
    assert row.hello_output.endswith("\n")
    # Put together by the program, so that an echo of its text is no proof that it ran.
    assert row.hello_output.strip() not in row.hello


@each_row
def test_a_toolchain_uses_only_placeholders_that_are_filled(row):
    for toolchain in row.toolchains:
        roles = set(toolchain.executables)
        known = PLACEHOLDERS | roles | {f"{role}.folder" for role in roles}
        for template in (toolchain.run, toolchain.compile or (), toolchain.bind, toolchain.prelude):
            used = set(re.findall(r"\{([a-z_.]+)\}", " ".join(template)))
            assert used <= known | GROUPS, toolchain.name
            # A group stands alone: inside an argument it would not be expanded.
            assert all(
                f"{{{group}}}" not in e or e == f"{{{group}}}" for group in GROUPS for e in template
            )
        assert "{args}" in toolchain.run
        assert "{source}" in (toolchain.compile or toolchain.run)
        assert "{source}" not in (toolchain.run if toolchain.compile else ())


@each_row
def test_a_toolchain_can_bind_a_file(row):
    for toolchain in row.toolchains:
        if toolchain.bind or toolchain.bind_env:
            assert row.binding.files
            named = " ".join((*toolchain.bind, *toolchain.bind_env.values()))
            stems = {name.rpartition(".")[0] for name in row.binding.files}
            assert any(stem in named for stem in stems), toolchain.name
        else:
            assert row.binding.edit, toolchain.name


@each_row
def test_toolchain_names_are_unique_within_a_row(row):
    names = [toolchain.name for toolchain in row.toolchains]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        *(("js", "javascript"), ("TS", "typescript"), (" Py ", "python"), ("bash", "shell")),
        *(("c#", "csharp"), ("C++", "cpp"), ("golang", "go"), ("R", "r"), ("rb", "ruby")),
    ],
)
def test_an_alias_in_any_case_finds_its_row(name, found):
    assert language(name).name == found


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("pyton", "did you mean python"),
        ("javascritp", "did you mean javascript"),
        ("cobol", "Known languages: javascript, typescript, python"),
        ("", "unknown language ''"),
    ],
)
def test_an_unknown_language_is_refused_with_what_is_near(name, said):
    with pytest.raises(UnknownLanguage, match=re.escape(said)):
        language(name)


@pytest.mark.parametrize(
    ("file", "text", "found"),
    [
        ("a.PY", "", "python"),
        ("a.mts", "", "typescript"),
        ("a.R", "", "r"),
        ("tool", "#!/bin/sh\n", "shell"),
        ("tool", "#!/usr/bin/env python3.11\n", "python"),
        ("tool", "#!/usr/bin/env -S FOO=1 node --no-warnings\n", "javascript"),
        ("tool", "#! /usr/bin/perl -w\n", "perl"),
        ("tool.unknown", "#!/usr/bin/lua5.4\n", "lua"),
    ],
)
def test_a_file_tells_its_language(file, text, found, tmp_path):
    path = tmp_path / file
    path.write_text(text)
    assert language_for_file(path).name == found


@pytest.mark.parametrize(
    "content", [b"", b"plain text", b"#!\n", b"\xff\xfe\0", b"#!/usr/bin/env\n"]
)
def test_a_file_that_does_not_tell_is_refused(content, tmp_path):
    path = tmp_path / "mystery"
    path.write_bytes(content)
    with pytest.raises(UnknownLanguage, match="cannot tell the language of 'mystery'"):
        language_for_file(path)
