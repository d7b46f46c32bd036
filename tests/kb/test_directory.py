"""Indexing folders: what is taken, what is skipped with which reason, what a second pass does."""

from __future__ import annotations

from pathlib import Path

import pytest

from kb import Store, index_paths


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
    return {skipped.path: skipped.reason for skipped in report.skipped}


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
    assert store.check().ok


def test_links_out_of_the_root_are_never_followed(store: Store, root: Path) -> None:
    secret = root.parent / "secret.txt"
    secret.write_text("classified")
    (root / "link.txt").symlink_to(secret)
    (root / "loop").symlink_to(root)
    assert reasons(index_paths(store, root))["link.txt"] == "a symbolic link"
    report = index_paths(store, root, follow_symlinks=True)
    assert "leads out" in reasons(report)["link.txt"]
    assert not store.search("classified")[0].hits


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"extensions": [".md"]}, {"readme.md"}),
        ({"include": ["src/*"]}, {"src/main.py", "src/.gitignore", "src/keep.log"}),
        ({"include": ["*.py"], "exclude": ["main*"]}, set()),
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
