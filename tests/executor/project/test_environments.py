"""An environment that was there keeps what it starts; one that a run made comes whole, or not."""

from __future__ import annotations

from pathlib import Path

import pytest

from executor.settings import Settings
from tests.executor.project.viewing import View, left, python

pytestmark = pytest.mark.view  # the same for everyone
PACKAGES = "lib/python3.11/site-packages"


def write(*paths: str) -> tuple[str, ...]:
    """Return a program that writes files, and the folders around them."""
    return python(
        f"for p in {paths!r}:\n"
        "  os.makedirs(os.path.dirname(p) or '.', exist_ok=True)\n"
        "  open(p, 'w').write('a run')"
    )


def commit(view: View):
    return view.commit(Settings().names)


def there(project: Path, place: str, mark: str) -> None:
    (project / place / PACKAGES).mkdir(parents=True)
    (project / place / "bin").mkdir()
    (project / place / "bin/tool").write_text("of the host")
    if mark == "conda-meta":
        (project / place / mark).mkdir()
    else:
        (project / place / mark).write_text("home = /usr/bin")


STARTED = [
    "bin/tool",
    "bin/new",
    "Scripts/new.exe",
    "pyvenv.cfg",
    f"{PACKAGES}/a.pth",
    f"{PACKAGES}/A.PTH",
    f"{PACKAGES}/a.egg-link",
    f"{PACKAGES}/sitecustomize.py",
    f"{PACKAGES}/sitecustomize/__init__.py",
    f"{PACKAGES}/usercustomize.cpython-311-x86_64-linux-gnu.so",
    f"{PACKAGES}/__editable___a_finder.py",
    "etc/conda/activate.d/a.sh",
    "conda-meta/state",
]
OTHERS = [f"{PACKAGES}/a/b.py", f"{PACKAGES}/a/bin/b", "share/man/a", "lib/a.so"]


@pytest.mark.parametrize("place", [".venv", "venv", "tools/env", "envs/3.12"])
@pytest.mark.parametrize("mark", ["pyvenv.cfg", "conda-meta"])
def test_what_an_environment_that_was_there_starts_is_held(view: View, place, mark):
    there(view.project, place, mark)
    view.begin()
    view.run(*write(*(f"{place}/{path}" for path in (*STARTED, *OTHERS))))
    outcome = commit(view)
    assert left(outcome) == {f"{place}/{path}": "held" for path in STARTED}
    assert (view.project / place / "bin/tool").read_text() == "of the host"
    assert all((view.project / place / path).exists() for path in OTHERS)


def test_the_project_may_itself_be_one(view: View):
    there(view.project, ".", "pyvenv.cfg")
    view.begin()
    view.run(*write("bin/tool", "src/bin/tool"))
    assert left(commit(view)) == {"bin/tool": "held"}


def test_a_folder_of_programs_without_an_environment_is_one_like_any_other(view: View):
    view.run(*write("bin/tool", "lib/a.pth", "node_modules/bin/tool"))
    assert commit(view).left_out == ()


@pytest.mark.parametrize("place", [".venv", "venv", "tools/env"])
def test_one_that_the_run_made_comes_as_a_whole(view: View, place):
    paths = [f"{place}/{path}" for path in ("pyvenv.cfg", *STARTED[:2], f"{PACKAGES}/a.pth")]
    view.run(*write(*paths, "else"))
    assert commit(view).left_out == ()
    assert all((view.project / path).exists() for path in paths)


@pytest.mark.parametrize(
    "bad", [".envrc", f"{PACKAGES}/a/.envrc", "share/AGENTS.md", ".unheard-of"]
)
def test_or_not_at_all_and_then_is_told_once(view: View, bad):
    paths = [f"env/{path}" for path in ("pyvenv.cfg", "bin/python", f"{PACKAGES}/a.pth")]
    view.run(*write(*paths, f"env/{bad}", "else"))
    outcome = commit(view)
    assert left(outcome) == {"env": "held"}
    assert bad in outcome.left_out[0].reason
    assert sorted(path.name for path in view.project.iterdir() if path.name in ("env", "else")) == [
        "else"
    ]
    kept = {change.path for change in view.store.get(outcome.id).changes}
    assert {*paths, f"env/{bad}"} <= kept
    applied = view.store.apply(outcome.id, names=Settings().names)
    assert (view.project / "env/bin/python").exists()
    assert (view.project / "env" / bad).exists() == (not bad.endswith(".envrc"))
    assert {one.kind for one in applied.left_out} <= {"never"}


def test_one_made_where_a_folder_was_waits_with_all_of_that_folder(view: View):
    (view.project / "env").mkdir()
    view.begin()
    view.run(*write("env/pyvenv.cfg", "env/bin/python", "env/.envrc"))
    assert left(commit(view)) == {"env": "held"}
    assert list((view.project / "env").iterdir()) == []
