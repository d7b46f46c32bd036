"""A held file's deletion is committed where a commit that was there before says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.executor.project.test_units import _settings, script, shell  # noqa: F401
from tests.executor.project.viewing import View, left

pytestmark = pytest.mark.view  # a commit says the same to everyone

BEGIN = """
mkdir sub; echo be kind > AGENTS.md; echo be kinder > sub/AGENTS.md; echo a > a
git add .; git commit -qm first
git checkout -qb none; git rm -q AGENTS.md sub/AGENTS.md; git commit -qm none
git checkout -q main; echo b > b; git add b; git commit -qm second; git tag begun
"""


@pytest.fixture(params=["sha1", pytest.param("sha256", marks=pytest.mark.once)])
def view(request: pytest.FixtureRequest, tmp_path: Path) -> View:
    folder = tmp_path / "repository"
    folder.mkdir()
    shell(folder, f"git init -q -b main --object-format={request.param} .; {BEGIN}")
    begun = View(folder, tmp_path / "view")
    begun.begin()
    return begun


SWITCHES = {
    "a switch": "git checkout -q none",
    "a switch to no branch": "git checkout -q none^0",
    "a switch in packed references": "git pack-refs --all; git checkout -q none",
    "a commit on it": "git checkout -q none; echo c > c; git add c; git commit -qm c",
    "a rebase": "git checkout -qb t main; echo c > c; git add c; git commit -qm c; "
    "git rebase -q --onto none main",
    "a merge": "git merge -q -m merged none",
}


@pytest.mark.parametrize("text", SWITCHES.values(), ids=SWITCHES)
@pytest.mark.parametrize("before", ["true", "git gc -q --prune=now"])
def test_it_goes_with_its_branch(view: View, text, before):
    shell(view.project, before)
    view.begin()
    script(view, text)
    assert left(view.commit()) == {}
    assert not (view.project / "AGENTS.md").exists()
    assert shell(view.project, "git status --porcelain; git fsck --strict 2>&1") == ""
    view.begin()
    script(view, "git checkout -q begun")
    assert left(view.commit()) == {}
    assert (view.project / "sub" / "AGENTS.md").read_text() == "be kinder\n"
    assert shell(view.project, "git status --porcelain") == ""


WISHES = {
    "a deletion": "rm AGENTS.md",
    "a deletion that is committed": "git rm -q AGENTS.md; git commit -qm gone",
    "one that is amended": "git rm -q AGENTS.md; git commit -q --amend -m gone",
    "one beside a switch": "git checkout -qb t main~1; rm AGENTS.md",
    "another first commit": "git checkout -q --orphan o; git rm -qf AGENTS.md; git commit -qm o",
    "a commit by hand": "git update-ref --no-deref HEAD "
    "$(git commit-tree -m x $(git mktree < /dev/null)); rm AGENTS.md",
}


@pytest.mark.parametrize("text", WISHES.values(), ids=WISHES)
def test_it_waits_where_only_the_run_says_so(view: View, text):
    script(view, text)
    assert left(view.commit()) == {"AGENTS.md": "held"}
    assert (view.project / "AGENTS.md").read_text() == "be kind\n"


@pytest.mark.parametrize("pack", ["true", "git gc -q --prune=now"])
def test_what_an_earlier_run_planted_says_nothing(view: View, pack):
    plant = "git checkout -qb p; git rm -q AGENTS.md; git commit -qm p; git checkout -qf main"
    script(view, f"{plant}; {pack}")
    assert left(view.commit()) == {}
    view.begin()
    script(view, "git checkout -q p")
    assert left(view.commit()) == {"AGENTS.md": "held"}
    # The same by the host itself is a person's word.
    shell(view.project, "git checkout -qf main; git checkout -qb h; git rm -q AGENTS.md; "
                        "git commit -qm h; git checkout -q main")  # fmt: skip
    view.begin()
    script(view, "git checkout -q h")
    assert left(view.commit()) == {}


def test_what_was_in_a_repository_of_sha256_is_known(view: View):
    shell(view.project, "git checkout -qb rude; echo be rude > AGENTS.md; git commit -qam rude; "
                        "git checkout -q main; git gc -q --prune=now")  # fmt: skip
    view.begin()
    script(view, "git checkout -q rude")
    assert left(view.commit()) == {}
    assert (view.project / "AGENTS.md").read_text() == "be rude\n"
    view.begin()
    script(view, "git checkout -qb new; echo obey me > AGENTS.md; git commit -qam new")
    assert left(view.commit()) == {"AGENTS.md": "held"}
    view.begin()
    shell(view.project, "git checkout -qf rude")
    view.begin()
    script(view, "git checkout -q new")  # which a run brought in
    assert left(view.commit()) == {"AGENTS.md": "held"}


def test_what_alternates_and_submodules_have_is_known(view: View):
    shell(view.project, "git clone -q --shared . near")
    allowed = "git -c protocol.file.allow=always"
    shell(view.project, f"{allowed} submodule add -q {view.project} deep; git commit -qm deep")
    for top in ("near", "deep"):
        shell(view.project / top, "git branch none origin/none")
        view.begin()
        script(view, f"cd {top}; git checkout -q none")
        assert left(view.commit()) == {}, top
        assert shell(view.project / top, "git status --porcelain; ls") == "a\n"
