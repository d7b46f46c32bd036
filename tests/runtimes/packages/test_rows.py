"""The rows of ecosystems: what may be named, and that each is whole."""

from __future__ import annotations

import re

import pytest

from executor.packages.model import Registry, reach_of
from runtimes.packages.registry import BY_NAME, ECOSYSTEMS, ecosystem_of
from runtimes.packages.tools import TOOLS
from runtimes.registry import LANGUAGES

SPECS = {
    "python": (
        ("pandas", "pandas==3.1", "numpy<3,>=2", "a[b,c]~=1.0", "ruamel.yaml"),
        ("-e", "a b", "a;b", "a@1", "../a", "a\nb", "a==$(id)", "a=='1'", "a" * 200),
    ),
    "javascript": (
        ("nanoid", "nanoid@5", "@scope/name@^1.2.3", "a@latest", "lodash.merge"),
        ("-g", "@scope", "a/b", "a@npm:b", "A", "a@$(id)", "a b", "a@1 ||2"),
    ),
    "ruby": (("rake", "rake:13.0", "nokogiri:~>1.15", "a-b_c"), ("-v", "a b", "a:`id`", "a/b")),
    "go": (
        ("example.com/a", "example.com/a/v2@v2.0.1", "gopkg.in/yaml.v3@latest"),
        ("fmt", "-u", "example.com/a@$(id)", "./a", "example.com/../a", "a b"),
    ),
    "r": (("jsonlite", "data.table"), ("-e", "a@1", "a b", "a/b", "1a")),
    "csharp": (
        ("Newtonsoft.Json", "Newtonsoft.Json@13.0.3", "a@1.0-beta.1"),
        ("-Source", "a b", "a@$(id)", "a/b", "a@x", "../a"),
    ),
    "elixir": (
        ("jason", "jason@1.4.0", "plug_crypto@~> 2.0", "a@>=1.0.0"),
        ("-a", "A", "a b", "a@$(id)", "a/b", "a@x", 'a@1"'),
    ),
    "java": (
        ("org.slf4j:slf4j-api", "com.google.guava:guava:33.0-jre", "a:b:1.0"),
        ("a", "-D:a", "a:b:$(id)", "a/b:c", "a:b:c:d", "a b:c", "a:b:../c"),
    ),
    "rust": (("serde", "serde@1", "serde_json@=1.0.1"), ("-p", "a b", 'a@"1"\nb', "a/b", "a@x")),
    "lua": (
        ("lpeg", "lpeg 1.0.2-1", "penlight>=1.0, < 2", "lua-cjson ~> 2.1"),
        ("-e", "a b c", "a/b", "a;b", "a $(id)", "a '1'"),
    ),
    "perl": (
        ("JSON", "Try::Tiny", "Moose~2.2", "Path::Tiny@0.144", "version@v0.9.2"),
        ("-v", "a/b", "A::", "A::B~$(id)", "A B", "A@'1'", "A-B-1.0.tar.gz"),
    ),
    "php": (
        ("monolog/monolog", "a/b:^2.0", "a-b/c_d:>=1.0,<3", "a/b:1.2.*||~3.1"),
        ("-a", "php", "a/b/c", "../a", "a/b:$(id)", "a/b c", "a/b:dev-main", "a/b:'1'"),
    ),
}


@pytest.mark.parametrize("row", ECOSYSTEMS, ids=lambda row: row.name)
def test_specs_are_names_with_versions_and_nothing_of_a_shell(row):
    good, bad = SPECS[row.name]
    assert [spec for spec in good if not re.fullmatch(row.spec, spec)] == []
    assert [spec for spec in bad if re.fullmatch(row.spec, spec)] == []


@pytest.mark.parametrize("row", ECOSYSTEMS, ids=lambda row: row.name)
def test_each_row_is_whole(row):
    assert set(row.languages) <= {language.name for language in LANGUAGES}
    assert all(ecosystem_of(language) is row for language in row.languages)
    assert BY_NAME[row.name] is row
    assert set(row.tools) <= set(TOOLS)
    assert reach_of(row, Registry())[2].rules
    assert not reach_of(row, Registry())[2].loopback_ports


def test_a_registry_of_ones_own_brings_no_host_of_the_public_one():
    row = BY_NAME["python"]
    own = reach_of(row, Registry("https://packages.example.com/simple"))[2]
    assert own.describe() == "packages.example.com"
    assert not own.may_be_private("packages.example.com", 443)
    private = reach_of(row, Registry("https://packages.example.com/simple", private=True))[2]
    assert private.may_be_private("packages.example.com", 443)


def test_a_language_without_packages_has_no_ecosystem():
    assert ecosystem_of("shell") is None
