"""What is kept for a person: shown, applied as he decides, or forgotten."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from executor.model import LeftOut
from executor.project.git import host
from executor.project.store import change_set_folder, store
from executor.project.store.change_set_folder import find_paths
from executor.project.store.manifest import CommitError
from executor.project.store.store import UnknownChangesError
from tests.executor.project.conftest import fill
from tests.executor.project.test_commit import TREES
from tests.executor.project.viewing import FakeNames, View, left, python, run, tree

NAMES = FakeNames()


def stage(view: View, code: str) -> str:
    view.run(*python(code))
    outcome = view.commit(stage=True)
    assert outcome.changed == ()
    return outcome.id


def text(view: View, name: str, path: str | None = None) -> str:
    return "\n".join(view.store.diff(view.store.get(name), path))


# The others differ for no user, when they are staged, from what `test_commit` runs for each.
OF_RIGHTS = ("a mode", "a closed file", "a closed new file", "a folder's mode",
             "a new folder's mode", "a deleted tree", "much at once")  # fmt: skip


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(code, id=name, marks=() if name in OF_RIGHTS else pytest.mark.once)
        for name, code in TREES.items()
    ],
)
def test_a_staged_run_changes_nothing_until_it_is_applied(view: View, tmp_path: Path, code):
    live = tmp_path / "live"
    live.mkdir()
    fill(live)
    run(live, *python(code))
    before = tree(view.project)
    name = stage(view, code)
    assert tree(view.project) == before
    if name:
        assert list(view.store.diff(view.store.get(name), None))
        outcome = view.store.apply(name, names=NAMES)
        assert (outcome.left_out, outcome.id) == ((), "")
        assert view.store.list(view.project) == []
    assert tree(view.project, times=False) == tree(live, times=False)


CHANGE = "open('a.txt', 'a').write('more\\n'); open('n', 'w').write('n\\n'); os.unlink('b.txt')"


def test_paths_are_applied_one_by_one_and_the_rest_is_kept(view: View):
    name = stage(view, f"{CHANGE}; os.makedirs('d/e'); open('d/e/f', 'w'); open('d/g', 'w')")
    first = view.store.apply(name, ["d/e/f"], names=NAMES)
    assert {change.path for change in first.changed} == {"d", "d/e", "d/e/f"}
    assert first.id == name
    second = view.store.apply(name, ["n", "b.txt"], names=NAMES)
    assert {change.path: change.change for change in second.changed} == {
        "n": "created",
        "b.txt": "deleted",
    }
    assert {change.path for change in view.store.get(name).changes} >= {"a.txt", "d/g"}
    assert view.store.apply(name, names=NAMES).id == ""
    assert (view.project / "a.txt").read_text() == "a\nmore\n"
    assert (view.project / "d" / "g").exists()


def test_a_dry_run_tells_and_does_nothing(view: View):
    name = stage(view, CHANGE)
    before = tree(view.project)
    outcome = view.store.apply(name, names=NAMES, dry_run=True)
    assert {change.path for change in outcome.changed} == {"a.txt", "n", "b.txt"}
    assert tree(view.project) == before
    assert view.store.get(name).changes


@pytest.mark.parametrize(
    "theirs",
    ["open('a.txt', 'w').write('host')", "os.unlink('a.txt')", "os.mkdir('n')", "open('n', 'w')"],
)
def test_one_conflict_applies_nothing(view: View, theirs):
    name = stage(view, CHANGE)
    run(view.project, *python(theirs))
    before = tree(view.project)
    outcome = view.store.apply(name, names=NAMES)
    assert "conflict" in left(outcome).values()
    assert (outcome.changed, outcome.id) == ((), name)
    assert tree(view.project) == before


def test_what_was_touched_and_is_the_same_again_is_no_conflict(view: View):
    name = stage(view, CHANGE)
    run(view.project, *python("open('a.txt', 'w').write('host'); open('a.txt', 'w').write('a\\n')"))
    assert view.store.apply(name, names=NAMES).left_out == ()
    assert (view.project / "a.txt").read_text() == "a\nmore\n"


def test_a_person_takes_the_runs_side(view: View):
    name = stage(view, CHANGE)
    (view.project / "a.txt").write_text("host\n")
    assert view.store.apply(name, names=NAMES, theirs=["a.txt"]).left_out == ()
    assert (view.project / "a.txt").read_text() == "a\nmore\n"


def test_lines_of_both_sides_are_merged(view: View):
    (view.project / "a.txt").write_text("".join(f"{n}\n" for n in range(20)))
    view.begin()
    name = stage(view, "t = open('a.txt').read(); open('a.txt', 'w').write(t + 'end\\n')")
    (view.project / "a.txt").write_text("start\n" + (view.project / "a.txt").read_text())
    assert left(view.store.apply(name, names=NAMES)) == {"a.txt": "conflict"}
    assert view.store.apply(name, names=NAMES, merge=True).left_out == ()
    lines = (view.project / "a.txt").read_text().splitlines()
    assert (lines[0], lines[-1], len(lines)) == ("start", "end", 22)


def test_lines_that_clash_are_not_merged(view: View):
    name = stage(view, CHANGE)
    (view.project / "a.txt").write_text("host\n")
    assert left(view.store.apply(name, names=NAMES, merge=True)) == {"a.txt": "conflict"}
    assert (view.project / "a.txt").read_text() == "host\n"


def test_held_names_are_applied_by_consent_and_never_ones_by_exact_name(view: View):
    view.run(*python("open('AGENTS.md', 'w').write('x'); os.mkdir('.vscode');"
                     "open('.vscode/tasks.json', 'w').write('{}'); open('.envrc', 'w').write('e')"))  # fmt: skip  # noqa: E501
    name = view.commit().id
    outcome = view.store.apply(name, names=NAMES)
    assert [change.path for change in outcome.changed] == ["AGENTS.md"]
    assert left(outcome) == {".vscode": "never", ".envrc": "never"}
    beside = view.store.apply(name, [".vscode"], names=NAMES)
    assert left(beside) == {".vscode/tasks.json": "never"}
    assert beside.changed == ()
    # Of a folder, of which nothing else is left, no empty one is made: it waits with what is in it.
    assert not (view.project / ".vscode").exists()
    outcome = view.store.apply(name, [".vscode/tasks.json", ".envrc"], names=NAMES)
    assert (outcome.left_out, outcome.id) == ((), "")
    assert (view.project / ".vscode" / "tasks.json").read_text() == "{}"


def test_a_folder_of_a_never_name_is_made_by_exact_name_as_the_run_left_it(view: View):
    view.run(*python("os.mkdir('.vscode'); os.mkdir('sub'); os.makedirs('sub/.vscode/own')"))
    outcome = view.commit()
    assert left(outcome) == {".vscode": "never", "sub/.vscode": "never"}
    assert not (view.project / ".vscode").exists()
    applied = view.store.apply(outcome.id, [".vscode"], names=NAMES)
    assert [change.path for change in applied.changed] == [".vscode"]
    assert (view.project / ".vscode").is_dir()
    assert left(view.store.apply(outcome.id, ["sub/.vscode"], names=NAMES)) == {
        "sub/.vscode/own": "never"
    }
    view.store.apply(outcome.id, ["sub/.vscode/own"], names=NAMES)
    assert (view.project / "sub" / ".vscode" / "own").is_dir()


PATTERNS = {
    "*.pth": {"x.pth", "lib/deep/y.pth"},
    "lib/*.pth": set(),
    "lib/**": {"lib", "lib/deep", "lib/deep/y.pth", "lib/a*"},
    "**/deep": {"lib/deep", "lib/deep/y.pth"},
    "**/y.pth": {"lib/deep/y.pth"},
    "lib/*/?.pth": {"lib/deep/y.pth"},
    "[xy].pth": {"x.pth", "lib/deep/y.pth"},
    "lib/a*": {"lib/a*"},  # as it stands
    "lib/deep/": {"lib/deep", "lib/deep/y.pth"},
    "*.PTH": set(),
    ".": {"x.pth", "lib", "lib/deep", "lib/deep/y.pth", "lib/a*", "lib.txt"} | {"lib/abc"},
}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_names_what_fits_it_and_all_below(pattern: str):
    found = find_paths(pattern, PATTERNS["."])
    assert found == PATTERNS[pattern] | ({"lib/abc"} if pattern == "lib/**" else set())


def test_a_pattern_takes_all_of_one_kind(view: View):
    name = stage(view, "os.mkdir('d'); open('x.pth', 'w'); open('d/y.pth', 'w'); open('d/z', 'w')")
    done = view.store.apply(name, ["*.pth"], names=NAMES)
    assert {change.path for change in done.changed} == {"x.pth", "d", "d/y.pth"}
    assert {change.path for change in view.store.get(name).changes} >= {"d/z"}
    with pytest.raises(CommitError, match="no changes at"):
        view.store.apply(name, ["*.pth"], names=NAMES)


def test_a_pattern_names_no_path_exactly(view: View):
    """What is never committed otherwise is, when a person names it in full."""
    view.run(*python("open('.envrc', 'w').write('x')"))
    name = view.commit().id
    assert left(view.store.apply(name, [".env*"], names=NAMES)) == {".envrc": "never"}
    assert not (view.project / ".envrc").exists()
    assert left(view.store.apply(name, [".envrc"], names=NAMES)) == {}


def test_what_another_version_kept_is_told_and_stays(view: View):
    name = stage(view, CHANGE)
    manifest = view.store.folder / "kept" / name / "manifest.json"
    manifest.write_text('{"project": "/p", "changes": [["a"]]}')
    assert view.store.list(view.project) == []
    with pytest.raises(UnknownChangesError, match=f"another version.*{name}"):
        view.store.get(name)
    view.store.expire()
    assert manifest.exists()


def test_what_an_earlier_version_kept_is_read(view: View):
    name = stage(view, f"{CHANGE}; os.setxattr('n', 'user.t', b'\\xff')")
    kept = view.store.get(name)
    manifest = view.store.folder / "kept" / name / "manifest.json"
    fields = json.loads(manifest.read_text())
    del fields["id"]
    for change, now in zip(fields["changes"], kept.changes, strict=True):
        change["xattrs"] = [(key, value.hex()) for key, value in now.xattrs]
    manifest.write_text(json.dumps(fields | {"left_out": [["n", "why", "held"]]}))
    assert view.store.get(name) == replace(kept, left_out=(LeftOut("n", "why", "held"),))


def test_names_that_are_not_utf8_are_kept(view: View):
    name = stage(
        view, "open(b'n\\xff', 'w').write('x'); os.setxattr(b'n\\xff', 'user.t', b'\\0\\xff')"
    )
    (change,) = view.store.get(name).changes
    assert (change.path, change.xattrs) == ("n\udcff", (("user.t", b"\0\xff"),))
    assert view.store.apply(name, names=NAMES).left_out == ()
    assert os.getxattr(view.project / "n\udcff", "user.t") == b"\0\xff"


def test_a_path_that_is_not_among_the_changes_is_told(view: View):
    name = stage(view, CHANGE)
    with pytest.raises(CommitError, match="no changes at"):
        view.store.apply(name, ["docs"], names=NAMES)


def test_an_unknown_id_is_told_with_those_that_there_are(view: View):
    name = stage(view, CHANGE)
    assert view.store.get(name[:3]).id == name
    for wrong in ("", "nonsense", "../kept", f"{name}x"):
        with pytest.raises(UnknownChangesError, match=name) as raised:
            view.store.get(wrong)
        assert raised.value.candidates == (name,)
    view.store.drop(name)
    with pytest.raises(UnknownChangesError, match="none are stored"):
        view.store.get(name)


def test_old_changes_are_forgotten_and_the_oldest_of_too_many(view: View, monkeypatch):
    names = [stage(view, f"open('n{n}', 'w').write('{n}' * 1000)") for n in range(3)]
    folder = view.store.folder / "kept"
    for at, name in enumerate(names):
        kept = replace(view.store.get(name), made=time.time() - 1000 * (3 - at))
        change_set_folder.write_manifest(folder / name, kept)
    view.store.expire()
    assert len(view.store.list(view.project)) == 3
    monkeypatch.setattr(store, "BYTES_MAX", 5500)  # each has what its forerunners left, too
    view.store.expire()
    assert [kept.id for kept in view.store.list(view.project)] == [names[2], names[1]]
    change_set_folder.write_manifest(folder / names[1], replace(view.store.get(names[1]), made=1.0))
    view.store.expire()  # the clock may have leapt
    assert [kept.id for kept in view.store.list(view.project)] == [names[2], names[1]]
    lately = replace(view.store.get(names[2]), made=time.time() - 2 * 86_400)
    change_set_folder.write_manifest(folder / names[2], lately)
    view.store.expire()
    assert [kept.id for kept in view.store.list(view.project)] == [names[2]]
    assert sorted(os.listdir(folder)) == [names[2]]


def test_a_diff_reads_as_gits(view: View):
    name = stage(view, f"{CHANGE}; os.chmod('run.sh', 0o700); os.symlink('a.txt', 'l')")
    said = text(view, name)
    for line in (
        "diff --git a/a.txt b/a.txt",
        "--- a/a.txt",
        "+more",
        "new file mode 644",
        "--- /dev/null",
        "deleted file mode 644",
        "-b",
        "old mode 755",
        "new mode 700",
        "new link mode 777",
    ):
        assert line in said.splitlines()
    assert "+more" in text(view, name, "a.txt")
    assert "+n" not in text(view, name, "a.txt").splitlines()


def test_a_diff_of_a_renamed_and_slightly_changed_file_tells_of_the_name(view: View):
    (view.project / "long").write_text("".join(f"line {n}\n" for n in range(50)))
    view.begin()
    name = stage(view, "os.rename('long', 'longer'); open('longer', 'a').write('end\\n')")
    lines = text(view, name).splitlines()
    assert "rename from long" in lines
    assert "+end" in lines
    assert "-line 1" not in lines


def test_a_diff_of_what_is_no_text_tells_sizes_and_digests(view: View):
    name = stage(view, "open('n', 'wb').write(bytes(range(256)))")
    assert "256 bytes, sha256 40aff2e9d2d8922e47afd4648e6967497158785fbd1da870e7110266bf944880" in (
        text(view, name)
    )


def test_without_git_no_rename_is_told_and_a_diff_says_so(view: View, monkeypatch):
    code = "os.rename('a.txt', 'c.txt'); open('b.txt', 'a').write('more')"
    name = stage(view, code)
    assert "rename to c.txt" in text(view, name)  # the control
    monkeypatch.setattr(host, "GIT_PATH", "/nonexistent")
    assert "2 → 6 bytes: git, which compares them, is not available" in text(view, name)
    done = view.store.apply(name, names=NAMES)
    assert {c.path: c.change for c in done.changed} == {
        "a.txt": "deleted",
        "b.txt": "modified",
        "c.txt": "created",
    }


def test_names_say_nothing_to_git_that_compares(view: View):
    odd = ["d/.gitattributes", "GIT~1", '"q"', "a\\b", "l\nf", "HEAD", "-p"]
    code = f"os.mkdir('d'); [open(n, 'w').write(n + '\\nx\\ny\\n') for n in {odd!r}]"
    said = text(view, stage(view, code))
    for path in odd:
        assert f"+++ b/{path}\n@@ -0,0 +1,{3 + path.count(chr(10))} @@" in said


def test_renames_are_told_as_such(view: View):
    view.run(*python("os.rename('a.txt', 'c.txt'); shutil.move('src', 'lib')"))
    outcome = view.commit()
    assert {(c.change, c.source, c.path) for c in outcome.changed} == {
        ("renamed", "a.txt", "c.txt"),
        *(("deleted", "", path) for path in ("src", "src/deep", "src/deep/er")),
        *(("created", "", path) for path in ("lib", "lib/deep", "lib/deep/er")),
        *(
            ("renamed", f"src/{path}", f"lib/{path}")
            for path in ("main.c", "deep/y.txt", "deep/er/x.txt")
        ),
    }
