"""Indexing folders: what is taken, what is skipped with which reason, what a second pass does."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from kb import Store, directory
from kb.directory import index_file, index_selection
from kb.ignoring import GlobError
from kb.walking import Selection
from tests.kb.folders import index_paths


@pytest.fixture
def store(tmp_path: Path):
    with Store.open(tmp_path / "kb.db") as opened:
        yield opened


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    files = {
        "readme.md": "# Project\n\nabout walruses\n",
        "src/main.py": "def main():\n    return 'penguins'\n",
        "src/generated.py": "x = 1\n",
        "src/.gitignore": "generated.py\n!keep.log\n",
        "src/keep.log": "kept\n",
        "build/out.txt": "ignored\n",
        "a/b/c/deep.txt": "deep\n",
        "other.log": "log\n",
        ".gitignore": "build/\n*.log\n",
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "image.bin").write_bytes(b"\x89PNG\0\0")
    return folder


def reasons(report) -> dict[str, str]:
    return {path: reason for path, reason, _ in report.skipped}


def test_every_file_is_indexed_or_skipped_with_a_reason(store: Store, root: Path) -> None:
    report = index_paths(store, root)
    assert set(report.indexed) == {
        ".gitignore", "a/b/c/deep.txt", "readme.md", "src/.gitignore", "src/keep.log",
        "src/main.py",
    }  # fmt: skip
    assert reasons(report) == {
        "build": "ignored by .gitignore",
        "image.bin": "binary",
        "other.log": "ignored by .gitignore",
        "src/generated.py": "ignored by .gitignore",
    }
    assert store.search("penguins")[0].hits[0].source == "src/main.py"


def test_a_second_pass_indexes_only_what_changed(store: Store, root: Path) -> None:
    first = index_paths(store, root)
    (root / "readme.md").write_text("# Project\n\nabout seals\n")
    (root / "a/b/c/deep.txt").unlink()
    (root / "src/main.py").touch()
    second = index_paths(store, root)
    assert second.indexed == ("readme.md",)
    assert second.removed == ("a/b/c/deep.txt",)
    assert second.unchanged == len(first.indexed) - 2
    assert store.check() == ()


def test_links_out_of_the_root_are_never_followed(store: Store, root: Path) -> None:
    secret = root.parent / "secret.txt"
    secret.write_text("classified")
    (root / "link.txt").symlink_to(secret)
    (root / "loop").symlink_to(root)
    assert reasons(index_paths(store, root))["link.txt"] == "a symbolic link"
    report = index_paths(store, root, follow_symlinks=True)
    assert "outside the folder" in reasons(report)["link.txt"]
    assert not store.search("classified")[0].hits


@pytest.mark.parametrize(
    ("link", "target", "met", "why"),
    [
        ("hooks", ".git/hooks", "hooks/run", "leads to repository's folder"),
        ("packages", "node_modules", "packages/p/index.js", "leads to installed packages"),
        ("out", "built", "out/a.txt", ".gitignore"),
        ("a.txt", "built/a.txt", "a.txt", ".gitignore"),
        ("kept", "drafts", "kept/b.txt", "excluded"),
        ("b.txt", "drafts/b.txt", "b.txt", "excluded"),
        ("inner", "docs/inner", "inner/c.txt", ".gitignore"),
        ("e.txt", "docs/d.txt", "e.txt", ""),
    ],
)
def test_what_a_followed_link_leads_to_is_judged_too(  # noqa: PLR0917
    store: Store, tmp_path: Path, link: str, target: str, met: str, why: str
) -> None:
    root = tmp_path / "linked"
    files = [".git/hooks/run", "node_modules/p/index.js", "built/a.txt", "drafts/b.txt"]
    for name in (*files, "docs/inner/c.txt", "docs/d.txt"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("words")
    (root / ".gitignore").write_text("/built/\n")
    (root / "docs/.gitignore").write_text("inner/\n")
    (root / link).symlink_to(target)
    report = index_paths(store, root, follow_symlinks=True, exclude=["drafts", "drafts/**"])
    assert (met in report.indexed) is (not why)
    assert why in reasons(report).get(link, "")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"extensions": [".md"]}, {"readme.md"}),
        ({"include": ["src/*"]}, {"src/main.py", "src/.gitignore", "src/keep.log"}),
        ({"include": ["*.py"], "exclude": ["main*"]}, set()),
        ({"include": ["**/*.{py,nothing}"]}, {"src/main.py"}),
        ({"include": ["*.txt"], "max_depth": 2}, set()),
        ({"include": ["*.txt"], "respect_gitignore": False}, {"a/b/c/deep.txt", "build/out.txt"}),
        ({"include": ["*.py"], "max_file_bytes": 10}, set()),
        ({"allowed": lambda path: "no"}, set()),
    ],
)
def test_the_selection_decides(store: Store, root: Path, arguments, expected) -> None:
    assert set(index_paths(store, root, **arguments).indexed) == expected


def test_a_limit_on_files_is_told(store: Store, root: Path) -> None:
    report = index_paths(store, root, max_files=2)
    assert report.truncated
    assert len(report.indexed) == 2


def test_a_file_is_no_folder(store: Store, root: Path) -> None:
    with pytest.raises(NotADirectoryError, match="index it as a file"):
        index_paths(store, root / "readme.md")


def test_equal_names_below_two_roots_do_not_supersede_each_other(
    store: Store, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text(f"in {name}")
        index_paths(store, tmp_path / name)
    assert {source.label for source in store.sources()} == {"a.txt", str(tmp_path / "two/a.txt")}


def write(root: Path, **files: str) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_globs_that_cannot_mean_a_path_are_refused_before_anything_is_read(
    store: Store, tmp_path: Path
) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    for patterns in ({"include": ["[*.py"]}, {"exclude": ["*.md", "/a.py"]}):
        with pytest.raises(GlobError, match="the glob"):
            index_paths(store, tmp_path, **patterns)
    assert store.sources() == []


@pytest.mark.parametrize(
    ("ignores", "left"),
    [
        ({".gitignore": "*.log\n!keep.log\n"}, {"a/keep.log", "a/x.txt", "keep.log"}),
        ({".gitignore": "*.log\n", "a/.gitignore": "!keep.log\n"}, {"a/keep.log", "a/x.txt"}),
        ({".gitignore": "a/\n!a/keep.log\n"}, {"keep.log", "other.log"}),
        ({".gitignore": "/keep.log\n"}, {"a/keep.log", "a/x.txt", "other.log"}),
        ({".gitignore": "a/*\n!a/x.txt\n"}, {"a/x.txt", "keep.log", "other.log"}),
        ({".gitignore": "**/x.txt\n"}, {"a/keep.log", "keep.log", "other.log"}),
        ({".git/info/exclude": "*.log\n"}, {"a/x.txt"}),
        (
            {".git/info/exclude": "*.log\n", ".gitignore": "!keep.log\n"},
            {"a/keep.log", "a/x.txt", "keep.log"},
        ),
    ],
)
def test_nested_and_negated_ignores_hold_as_in_git(store: Store, tmp_path: Path, ignores, left):
    root = tmp_path / "project"
    write(root, **{"a/keep.log": "k", "a/x.txt": "x", "keep.log": "kk", "other.log": "o"})
    write(root, **ignores)
    indexed = {label for label in index_paths(store, root).indexed if ".git" not in label}
    assert indexed == left


def test_the_repository_above_a_folder_is_heeded(store: Store, tmp_path: Path) -> None:
    top = tmp_path / "repo"
    write(top, **{".git/HEAD": "ref", ".gitignore": "*.log\nout/\n", "sub/a.log": "a"})
    write(top, **{"sub/b.txt": "b", "sub/out/c.txt": "c", "out/d.txt": "d", "out/e.log": "e"})
    assert index_paths(store, top / "sub").indexed == ("b.txt",)
    assert index_paths(store, top / "out").indexed == ("d.txt", "e.log")  # named, so meant


def test_a_renamed_file_keeps_its_chunks_and_goes_by_its_new_name(store: Store, root: Path) -> None:
    index_paths(store, root)
    before = {source.label: source.id for source in store.sources()}
    (root / "src" / "main.py").rename(root / "src" / "app.py")
    report = index_paths(store, root)
    assert (report.renamed, report.indexed, report.removed) == (
        (("src/main.py", "src/app.py"),), (), ()
    )  # fmt: skip
    (hit,) = store.search("penguins source:app.py")[0].hits
    assert hit.source_id == before["src/main.py"]
    assert store.search("penguins", source="main.py")[0].hits == ()
    assert store.search("app")[0].hits[0].source == "src/app.py"  # by its new label
    assert store.check() == ()
    assert index_paths(store, root).unchanged == len(before)


def test_a_moved_folder_is_followed(store: Store, root: Path) -> None:
    index_paths(store, root)
    (root / "a").rename(root / "z")
    report = index_paths(store, root)
    assert report.renamed == (("a/b/c/deep.txt", "z/b/c/deep.txt"),)
    assert report.removed == ()


def test_another_suffix_is_another_kind_and_indexed_anew(store: Store, root: Path) -> None:
    index_paths(store, root)
    (root / "readme.md").rename(root / "readme.txt")
    report = index_paths(store, root)
    assert (report.indexed, report.removed) == (("readme.txt",), ("readme.md",))
    assert store.search("walruses")[0].hits[0].kind == "text"


def test_a_copy_is_a_source_of_its_own(store: Store, root: Path) -> None:
    index_paths(store, root)
    (root / "copy.md").write_bytes((root / "readme.md").read_bytes())
    assert index_paths(store, root).indexed == ("copy.md",)


def test_utf16_is_text_and_progress_is_told_file_by_file(store: Store, tmp_path: Path) -> None:
    root = tmp_path / "project"
    write(root, **{"a.txt": "one", "b.txt": "two"})
    (root / "wide.txt").write_bytes("the walrus".encode("utf-16"))
    seen: list = []
    index_paths(store, root, on_progress=lambda *step: seen.append(step))
    assert [(files, path) for files, _, _, path in seen] == [
        (1, "a.txt"), (2, "b.txt"), (3, "wide.txt"),
    ]  # fmt: skip
    assert store.search("walrus")[0].hits


def test_a_pass_over_some_paths_leaves_the_rest_alone(store: Store, root: Path) -> None:
    index_paths(store, root)
    (root / "readme.md").write_text("# changed\n")
    (root / "src" / "main.py").write_text("changed = 1\n")
    (root / "a/b/c/deep.txt").unlink()
    (root / "src" / "generated.py").write_text("y = 2\n")
    paths = {root / "src" / "main.py", root / "a", root / "src" / "generated.py", root / "gone"}
    report = index_selection(store, root, Selection(), only=paths)
    assert (report.indexed, report.removed) == (("src/main.py",), ("a/b/c/deep.txt",))
    assert reasons(report) == {"src/generated.py": "ignored by .gitignore"}
    assert index_paths(store, root).indexed == ("readme.md",)


@pytest.mark.parametrize("pattern", ["main.py", "src/", "/src/*.py"])
def test_what_git_has_come_to_ignore_is_forgotten_and_told(
    store: Store, root: Path, pattern: str
) -> None:
    assert "src/main.py" in index_paths(store, root).indexed
    (root / ".gitignore").write_text(f"build/\n*.log\n{pattern}\n")
    report = index_paths(store, root)
    assert "src/main.py" in report.ignored
    assert report.changed
    assert report.removed == ()
    assert not store.search("penguins", limit=3)[0].hits
    assert store.search("walruses")[0].hits
    assert index_paths(store, root).ignored == ()
    (root / ".gitignore").write_text("build/\n*.log\n")
    assert "src/main.py" in index_paths(store, root).indexed


def test_an_ignored_file_that_was_named_by_itself_stays(store: Store, root: Path) -> None:
    index_file(store, root / "build/out.txt", root)
    index_paths(store, root)
    report = index_paths(store, root)
    assert (report.ignored, report.removed) == ((), ())
    assert str(root / "build/out.txt") in store.files(root)


def test_what_a_narrower_selection_leaves_out_stays(store: Store, root: Path) -> None:
    index_paths(store, root)
    report = index_paths(store, root, include=["*.md"], exclude=["src/*"], max_depth=1)
    assert (report.ignored, report.removed) == ((), ())
    assert store.search("penguins")[0].hits


def test_a_name_that_is_no_text_is_skipped_and_told_and_nothing_else(
    store: Store, root: Path
) -> None:
    named = os.fsdecode(os.fsencode(root) + b"/bad\xff.txt")
    try:
        Path(named).write_text("axolotl\n")
    except OSError:
        pytest.skip("not applicable: this file system takes no such names")
    report = index_paths(store, root)
    assert reasons(report)["bad\\xff.txt"] == "a name that is not UTF-8"
    assert "readme.md" in report.indexed
    assert index_selection(store, root, Selection(), only={Path(named)}).indexed == ()


def test_a_file_that_holds_more_than_its_size_says_is_read_whole(tmp_path: Path) -> None:
    limits = Path("/proc/self/limits")
    with Store.open(tmp_path / "kb.db") as store:
        indexed = index_file(store, limits)
        assert indexed is not None
        assert store.text(indexed.source_id) == limits.read_bytes()


def test_of_a_file_that_grew_since_it_was_listed_no_more_is_read_than_one_may_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grown = tmp_path / "folder" / "grown.txt"
    grown.parent.mkdir()
    grown.write_text("small\n")
    sizes: list[int] = []

    @contextmanager
    def open_grown(path: Path, *_: object, **__: object) -> Iterator[object]:
        path.write_bytes(b"x" * 100_000)
        with path.open("rb") as file:

            def read(size: int) -> bytes:
                sizes.append(size)
                return file.read(size)

            yield SimpleNamespace(fileno=file.fileno, read=read)

    monkeypatch.setattr(directory, "open_plain", open_grown)
    with Store.open(tmp_path / "kb.db") as store:
        report = index_paths(store, grown.parent, max_file_bytes=1000)
    assert sizes == [1001]
    assert [reason for _, reason, _ in report.skipped] == ["over 1000 bytes"]
