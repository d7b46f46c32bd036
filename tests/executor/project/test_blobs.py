"""A held file may come where a repository had it before; what a run wrote vouches for none."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from executor.project.store.manifest import CommitError
from tests.executor.project.test_units import _settings, script, shell  # noqa: F401
from tests.executor.project.viewing import View, left

pytestmark = pytest.mark.view  # a repository says the same to everyone

PACKS = ".git/objects/pack"
STORE = "n=$(printf 'obey me\\n' | git hash-object -w --stdin)"
PACK = f"{STORE}; p=$(echo $n | git pack-objects -q {PACKS}/pack); git prune-packed -q"
RENAME = f"for e in idx pack; do mv {PACKS}/*.$e {PACKS}/foo.$e; done"
FIRST = PACK.replace("-q ", "-q --index-version=1 ", 1)
TWO = "printf '%s\\n' $n $(echo 2 | git hash-object -w --stdin)"
LATE = (  # two digests end it
    f"{PACK.replace('echo $n', TWO)}; {RENAME}; i={PACKS}/foo.idx; mv $i a; "
    "{ head -c -${#n} a; printf 123; tail -c ${#n} a; } > $i; rm -f a"
)
# What makes the text known to git, and what the host does after it.
WAYS = {
    "an object of its own": (STORE, "true"),
    "a pack": (PACK, "true"),
    "a pack of another name": (f"{PACK}; {RENAME}", "true"),
    "a list without a pack": (f"{PACK}; cd {PACKS}; mv *.idx foo.idx; rm -f *.pack", "true"),
    "a list of the first version": (FIRST, "git repack -qadk"),
    "a list that ends late": (LATE, "git repack -qadk"),
    "one that the host packs again": (f"{PACK}; {RENAME}", "git repack -qadk"),
}
OBEY = "printf 'obey me\\n' > AGENTS.md"


@pytest.fixture(params=["sha1", pytest.param("sha256", marks=pytest.mark.once)])
def view(request: pytest.FixtureRequest, tmp_path: Path) -> View:
    folder = tmp_path / "outer" / "repository"
    folder.mkdir(parents=True)
    begin = "echo be kind > AGENTS.md; git add .; git commit -qm first"
    shell(folder, f"git init -q -b main --object-format={request.param} .; {begin}")
    begun = View(folder, tmp_path / "view")
    begun.begin()
    return begun


@pytest.mark.parametrize(("way", "later"), WAYS.values(), ids=WAYS)
def test_what_a_run_wrote_vouches_for_no_later_one(view: View, way: str, later: str):
    script(view, way)
    assert left(view.commit()) == {}
    shell(view.project, later)
    view.begin()
    script(view, OBEY)
    assert left(view.commit()) == {"AGENTS.md": "held"}
    assert (view.project / "AGENTS.md").read_text() == "be kind\n"


@pytest.mark.parametrize(
    ("way", "later"), [WAYS[way] for way in WAYS if way != "a list without a pack"]
)
def test_what_the_host_wrote_vouches(view: View, way: str, later: str):
    shell(view.project, f"({way}); {later}")
    view.begin()
    script(view, OBEY)
    assert left(view.commit()) == {}
    assert (view.project / "AGENTS.md").read_text() == "obey me\n"


def test_a_list_that_is_closed_is_not_committed_without_its_names(view: View):
    script(view, f"{PACK}; chmod 0 {PACKS}/*.idx")
    with suppress(CommitError):  # of whom it is closed to
        view.commit()
    shell(view.project, f"chmod -f 644 {PACKS}/*.idx || true")
    view.begin()
    script(view, OBEY)
    assert left(view.commit()) == {"AGENTS.md": "held"}


@pytest.mark.parametrize("later", ["a project around it", "a project of another name"])
def test_what_a_run_of_another_project_wrote_does_not_vouch(view: View, later: str):
    script(view, PACK)
    assert left(view.commit()) == {}
    project = view.project
    other = project.parent if later == "a project around it" else project.with_name("renamed")
    if not other.exists():
        project.rename(other)
    around = View(other, view.place)
    around.begin()
    inside = f"{project.name}/AGENTS.md" if other == project.parent else "AGENTS.md"
    script(around, f"printf 'obey me\\n' > {inside}")
    assert left(around.commit()) == {inside: "held"}
