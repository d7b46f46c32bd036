"""Packages of Ruby, Go, R and Rust: had once, found offline, and refused where they are bad."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from executor import Caller, PackagesError, Request
from executor.packages import model
from tests.executor.packages.conftest import left, run_in
from tests.executor.packages.other_registries import Crates, Gems, Modules, Sources
from tests.executor.packages.script_registries import Composed, Distributions, Rocks
from tests.needs import needs

pytestmark = [pytest.mark.tier_a, pytest.mark.once]

GO_USE = 'package main\n\nimport "example.com/alpha"\n\nfunc main() { println(alpha.Value()) }\n'
GO_ALPHA = (
    'package alpha\n\nimport "example.com/beta"\n\nfunc Value() int { return beta.Value + 1 }\n'
)


@dataclass(frozen=True)
class Case:
    """A language, and the packages of a registry of its kind: `alpha` needs `beta`."""

    language: str
    registry: Callable
    spec: str
    use: str
    alpha: tuple[str, str, str]
    beta: tuple[str, str]
    lock: str


CASES = {
    "ruby": Case(
        "ruby",
        Gems,
        "alpha",
        'require "alpha"\nputs ALPHA\n',
        ("alpha", 'require "beta"\nALPHA = BETA + 1\n', "beta"),
        ("beta", "BETA = 41\n"),
        "gems.lock",
    ),
    "go": Case(
        "go",
        Modules,
        "example.com/alpha",
        GO_USE.replace("println(alpha.Value())", "fmt.Println(alpha.Value())").replace(
            "import ", 'import "fmt"\nimport '
        ),
        ("example.com/alpha", GO_ALPHA, "example.com/beta"),
        ("example.com/beta", "package beta\n\nconst Value = 41\n"),
        "go.sum",
    ),
    "r": Case(
        "r",
        Sources,
        "alpha",
        "cat(alpha::value(), '\\n', sep = '')\n",
        ("alpha", "value <- function() VALUE + 1\n", "beta"),
        ("beta", "VALUE <- 41\n"),
        "packages.lock",
    ),
    "rust": Case(
        "rust",
        Crates,
        "alpha",
        'use alpha::value;\nfn main() { println!("{}", value()); }\n',
        ("alpha", "pub fn value() -> i32 { beta::VALUE + 1 }\n", "beta"),
        ("beta", "pub const VALUE: i32 = 41;\n"),
        "Cargo.lock",
    ),
    "php": Case(
        "php",
        Composed,
        "acme/alpha",
        "<?php echo alpha(), PHP_EOL;",
        ("acme/alpha", "function alpha() { return beta() + 1; }\n", "acme/beta"),
        ("acme/beta", "function beta() { return 41; }\n"),
        "composer.lock",
    ),
    "lua": Case(
        "lua",
        Rocks,
        "alpha",
        'print((require("alpha")))\n',
        ("alpha", 'return require("beta") + 1\n', "beta"),
        ("beta", "return 41\n"),
        "rocks.lock",
    ),
    "perl": Case(
        "perl",
        Distributions,
        "Alpha",
        "use Alpha; print Alpha::value(), qq(\\n);\n",
        ("Alpha", "use Beta; sub value { Beta::value() + 1 }\n", "Beta"),
        ("Beta", "sub value { 41 }\n"),
        "cpan.lock",
    ),
}


def opened(open_with, served, language):
    given = model.Registry(served.url, ("files.example.com",), private=True)
    return open_with(
        allow=frozenset({language}), registries={language: given}, layer_bytes=64 << 20
    )


@pytest.mark.parametrize("name", CASES)
async def test_packages_are_fetched_once_and_found_offline_afterwards(open_with, served, name):
    case = CASES[name]
    registry = case.registry(served)
    registry.add(*case.alpha[:2], requires=case.alpha[2])
    registry.add(*case.beta)
    async with opened(open_with, served, case.language) as engine:
        first = await run_in(engine, case.language, case.use, case.spec)
        assert (first.stdout.text, first.packages) == ("42\n", "now"), first.stderr.text
        served.files.clear()
        second = await run_in(engine, case.language, f"{case.use}\n", case.spec)
        assert (second.stdout.text, second.packages) == ("42\n", "kept")


@pytest.mark.parametrize("name", CASES)
async def test_what_is_not_there_is_said_and_leaves_nothing(open_with, served, kept, name):
    case = CASES[name]
    case.registry(served)
    async with opened(open_with, served, case.language) as engine:
        with pytest.raises(PackagesError, match="no such"):
            await run_in(engine, case.language, case.use, case.spec)
    assert left(kept) == []


@pytest.mark.parametrize("name", CASES)
async def test_a_file_that_is_not_what_the_lock_says_is_refused(open_with, served, kept, name):
    case = CASES[name]
    registry = case.registry(served)
    registry.add(*case.beta)
    spec = case.beta[0]
    async with opened(open_with, served, case.language) as engine:
        request = Request(case.language, packages=(spec,))
        answer = await engine.have_packages(request, Caller(), fetch=False)
        assert case.lock in answer.files
        registry.add(case.beta[0], case.beta[1].replace("41", "666"))
        with pytest.raises(PackagesError, match="not what the lock's digest says"):
            await engine.have_packages(request, Caller(), fetch=True)
    assert left(kept) == []


@pytest.mark.parametrize("name", ["lua", "perl", "php"])
async def test_the_lock_that_is_answered_is_a_projects_own_from_then_on(
    open_with, served, project, name
):
    case = CASES[name]
    registry = case.registry(served)
    registry.add(*case.alpha[:2], requires=case.alpha[2])
    registry.add(*case.beta)
    async with opened(open_with, served, case.language) as engine:
        wanted = Request(case.language, "", packages=(case.spec,))
        answer = await engine.have_packages(wanted, Caller(), fetch=False)
        (project / case.lock).write_bytes(answer.files[case.lock].rstrip())
        result = await run_in(engine, case.language, case.use, case.lock)
        assert result.stdout.text == "42\n", result.stderr.text
        registry.add(case.beta[0], case.beta[1].replace("41", "666"))
        (project / case.lock).write_bytes(answer.files[case.lock] + b"\n")
        with pytest.raises(PackagesError):
            await run_in(engine, case.language, case.use, case.lock)


BUILD_RS = """\
fn main() {
    let found = std::net::TcpStream::connect("127.0.0.1:PORT").is_ok();
    println!("cargo:rustc-env=FOUND={}", if found { "a network" } else { "no network" });
}
"""


async def test_a_build_script_has_no_network(open_with, served):
    registry = Crates(served)
    code = 'pub const FOUND: &str = env!("FOUND");\n'
    registry.add("alpha", code, build=BUILD_RS.replace("PORT", str(served.port)))
    async with opened(open_with, served, "rust") as engine:
        use = 'fn main() { println!("{}", alpha::FOUND); }'
        result = await run_in(engine, "rust", use, "alpha")
    assert result.stdout.text == "no network\n"


@needs("make")
async def test_an_extension_of_a_gem_is_built_without_network(open_with, served):
    extconf = (
        'require "socket"\n'
        f"found = begin; TCPSocket.new('127.0.0.1', {served.port}); 'a network'\n"
        "rescue SystemCallError; 'no network'; end\n"
        'File.write("Makefile", "all clean install:\\n\\techo\\n")\n'
        'File.write(File.join(__dir__, "../lib/found.rb"), "FOUND = #{found.inspect}\\n")\n'
    )
    Gems(served).add("alpha", 'require_relative "found"\n', extconf=extconf)
    async with opened(open_with, served, "ruby") as engine:
        result = await run_in(engine, "ruby", 'require "alpha"; puts FOUND', "alpha")
    assert result.stdout.text == "no network\n", result.stderr.text


async def test_a_withdrawn_crate_is_refused(open_with, served, kept):
    Crates(served).add("alpha", "", yanked=True)
    async with opened(open_with, served, "rust") as engine:
        with pytest.raises(PackagesError, match=r"withdrawn|no such"):
            await run_in(engine, "rust", "fn main() {}", "alpha")
    assert left(kept) == []
