"""Perl's packages: snapshots of a project, and what of a distribution is refused or confined."""

from __future__ import annotations

import pytest

from executor import PackagesError
from executor.packages import model
from tests.executor.packages.conftest import left, run_in
from tests.executor.packages.script_registries import MAKEFILE, Distributions

pytestmark = [pytest.mark.tier_a, pytest.mark.once]

VALUE = "sub value { 42 }\n"
USE = 'use Alpha; print Alpha::value(), "\\n";\n'
SNAPSHOT = """\
# carton snapshot format: version 1.0
DISTRIBUTIONS
  Alpha-1.0
    pathname: {alpha}
    provides:
      Alpha 1.0
    requirements:
      Beta 1
  Beta-1.0
    pathname: {beta}
    provides:
      Beta 1.0
    requirements:
      ExtUtils::MakeMaker 0
"""


def opened(open_with, served):
    given = model.Registry(served.url, private=True)
    return open_with(allow=frozenset({"perl"}), registries={"perl": given}, layer_bytes=64 << 20)


async def test_a_snapshot_of_the_project_is_taken_as_it_is(open_with, served, project):
    registry = Distributions(served)
    alpha = registry.add("Alpha", "use Beta; sub value { Beta::value() + 1 }\n", requires="Beta")
    beta = registry.add("Beta", "sub value { 41 }\n")
    (project / "cpanfile.snapshot").write_text(SNAPSHOT.format(alpha=alpha, beta=beta))
    del served.files["/modules/02packages.details.txt.gz"]
    async with opened(open_with, served) as engine:
        result = await run_in(engine, "perl", USE, "cpanfile.snapshot")
    assert result.stdout.text == "42\n", result.stderr.text


async def test_a_makefile_runs_in_the_build_alone_which_has_no_network(open_with, served):
    ask = (
        "use IO::Socket::INET;\n"
        f"my $there = IO::Socket::INET->new('127.0.0.1:{served.port}');\n"
        "my $found = $there ? 'a network' : 'no network';\n"
        "open my $file, '>', 'lib/Found.pm';\n"
        "print $file qq(package Found; sub value {{ '$found' }} 1;); close $file;\n"
    )
    Distributions(served).add("Alpha", VALUE, makefile=ask + MAKEFILE)
    async with opened(open_with, served) as engine:
        result = await run_in(engine, "perl", "use Found; print Found::value();", "Alpha")
    assert result.stdout.text == "no network", result.stderr.text


LATE = MAKEFILE.replace("{needs}", "'Beta' => 1")


async def test_what_only_a_makefile_knows_of_can_be_named_beside_it(open_with, served):
    registry = Distributions(served)
    registry.add("Alpha", "use Beta; sub value { Beta::value() + 1 }\n", makefile=LATE)
    registry.add("Beta", "sub value { 41 }\n")
    async with opened(open_with, served) as engine:
        result = await run_in(engine, "perl", USE, "Alpha", "Beta")
    assert result.stdout.text == "42\n", result.stderr.text


REFUSED = {
    "lacking": ({"requires": "Beta"}, "no such module"),
    "leading out": ({"files": {"Alpha-1.0/../../a": "a"}}, "leads out of its folder"),
    "absolute": ({"files": {"/etc/a": "a"}}, "leads out of its folder"),
    "failing": ({"makefile": "die 'BROKEN';"}, "was not built without network"),
    "asking late": ({"makefile": LATE}, "needs a module that its META does not name"),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_bad_distributions_are_refused_in_words_and_leave_nothing(
    open_with, served, kept, case
):
    given, reason = REFUSED[case]
    Distributions(served).add("Alpha", VALUE, **given)
    async with opened(open_with, served) as engine:
        with pytest.raises(PackagesError, match=reason):
            await run_in(engine, "perl", USE, "Alpha")
    assert left(kept) == []


async def test_a_name_in_an_archive_is_no_option_of_what_reads_it(open_with, served):
    """Tar would start a program by such a name, where there is a network."""
    name = f"--use-compress-program=wget -q 127.0.0.1:{served.port} x/META.json"
    Distributions(served).add("Alpha", VALUE, files={name: "{}"})
    async with opened(open_with, served) as engine:
        with pytest.raises(PackagesError, match="was not built"):
            await run_in(engine, "perl", USE, "Alpha")
    assert "/authors/id/A/AC/ACME/Alpha-1.0.tar.gz" in served.asked
    assert "/" not in served.asked


@pytest.mark.parametrize("spec", ["Alpha~2", "Alpha@0.9"])
async def test_a_version_that_the_registry_does_not_have_is_refused(open_with, served, spec):
    Distributions(served).add("Alpha", VALUE)
    async with opened(open_with, served) as engine:
        with pytest.raises(PackagesError, match="no versions fit together"):
            await run_in(engine, "perl", USE, spec)
