from __future__ import annotations

import os
from pathlib import Path

import pytest

from repomap import scanning
from repomap.model import REASONS
from repomap.store import MapStore, read_files, read_symbols
from tests.repomap.repositories import APP, commit_all, scan_folder, write_files


def dump(store: MapStore) -> list[tuple[object, ...]]:
    """All of a map but ids and times."""
    rows: list[tuple[object, ...]] = []
    for query in (
        "SELECT path, size, sha256, language, lines, purpose, skeleton, note FROM file"
        " ORDER BY path",
        "SELECT path, name, kind, parent, start_line, end_line, signature FROM symbol"
        " JOIN file ON file.id = symbol.file ORDER BY path, ordinal",
        "SELECT a.path, b.path FROM edge JOIN file AS a ON a.id = edge.file"
        " JOIN file AS b ON b.id = edge.target ORDER BY a.path, b.path",
        "SELECT path, field, words FROM indexed JOIN file ON file.id = indexed.file"
        " ORDER BY path, field",
        "SELECT path, reason FROM left_out ORDER BY path",
    ):
        rows += store.db.execute(query).fetchall()
    return rows


def test_a_scan_knows_symbols_imports_and_purposes(store, root):
    write_files(root, APP)
    report = scan_folder(store, root)
    files = read_files(store.db)
    assert report.files == len(files) == len(APP)
    assert files["src/app/cart.py"].purpose == "The cart of a customer."
    found = [
        (one.full_name, one.kind) for one in read_symbols(store.db, files["src/app/cart.py"].id)
    ]
    assert found == [
        ("ShoppingCart", "class"),
        ("ShoppingCart.add_item", "method"),
        ("ShoppingCart.apply_discount", "method"),
    ]
    edges = store.db.execute(
        "SELECT a.path, b.path FROM edge JOIN file AS a ON a.id = file"
        " JOIN file AS b ON b.id = target ORDER BY 1, 2"
    ).fetchall()
    assert edges == [
        ("src/app/cart.py", "src/app/prices.py"),
        ("tests/test_cart.py", "src/app/cart.py"),
    ]


@pytest.mark.parametrize(
    ("path", "content", "reason"),
    [
        ("a.tmp", "x", "ignored"),
        ("node_modules/x/index.js", "x", "excluded"),
        ("big.py", b"x = 1\n" * 100_000, "too_large"),
        ("image.png", b"\x89PNG\0\0\0", "binary"),
        ("latin.py", "# caf\xe9 au lait\n".encode("latin-1"), "encoding"),
        (".env", "TOKEN=x", "secret_name"),
        ("bundle.min.js", b"var a=1;" * 4000, "generated"),
    ],
)
def test_o1_what_is_left_out_has_its_reason(store, root, path, content, reason):
    write_files(root, {".gitignore": "*.tmp\n!keep.tmp\n", "keep.tmp": "kept", path: content})
    report = scan_folder(store, root)
    left = dict(report.left_out)
    assert reason in REASONS
    assert left == {path if reason != "excluded" else "node_modules": reason}
    assert "keep.tmp" in read_files(store.db)  # the positive control: a pattern that is negated


def test_links_are_not_followed(store, root, tmp_path):
    write_files(tmp_path, {"outside.py": "secret = 1\n"})
    (root / "link.py").symlink_to(tmp_path / "outside.py")
    assert [*scan_folder(store, root).left_out] == [("link.py", "link")]


def test_names_that_are_no_utf8_are_left_out(store, root):
    write_files(root, {"a.py": "x = 1\n"})
    with open(os.fsencode(root) + b"/caf\xe9.py", "wb") as file:
        file.write(b"y = 2\n")
    report = scan_folder(store, root)
    assert list(read_files(store.db)) == ["a.py"]
    assert [reason for _, reason in report.left_out] == ["encoding"]


def test_more_files_than_allowed_are_counted(store, root):
    write_files(root, {f"f{n}.py": "x = 1\n" for n in range(5)})
    report = scan_folder(store, root, files=3)
    assert report.files == 3
    assert "2 files exceed the limit map.files" in report.notes[-1]


def test_a_map_brought_up_to_date_is_the_map_made_anew(store, root, tmp_path):
    write_files(root, APP)
    commit_all(root, "Begin")
    scan_folder(store, root)
    (root / "src/app/mail.py").unlink()
    write_files(root, {
        "src/app/prices.py": '"""Prices."""\n\n\ndef find_price(x):\n    return 2\n',
        "src/app/post.py": "from app import prices\n",
    })  # fmt: skip
    commit_all(root, "Send parcels", at=1_700_100_000)
    again = scan_folder(store, root)
    assert again.removed == 1
    anew = MapStore(tmp_path / "anew.sqlite3")
    scan_folder(anew, root)
    assert dump(store) == dump(anew)
    anew.close()


def test_a_scan_that_was_killed_is_made_up_for_by_the_next(store, root, tmp_path, monkeypatch):
    write_files(root, APP)
    commit_all(root, "Begin")

    def die(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(scanning, "resolve_all", die)
        with pytest.raises(KeyboardInterrupt):
            scan_folder(store, root)
    assert store.db.execute("SELECT count(*) FROM file").fetchone() == (len(APP),)
    scan_folder(store, root)
    anew = MapStore(tmp_path / "anew.sqlite3")
    scan_folder(anew, root)
    assert dump(store) == dump(anew)
    anew.close()


def test_only_changed_files_are_read_again(store, root, monkeypatch):
    # Time stamps are trusted at once, rather than after two seconds.
    monkeypatch.setattr(scanning, "UNSURE_NS", -(10**12))
    write_files(root, APP)
    assert scan_folder(store, root).read == len(APP)
    before = dump(store)
    assert scan_folder(store, root).read == 0
    assert dump(store) == before
    write_files(root, {"src/app/mail.py": "def send():\n    return 12\n"})
    assert scan_folder(store, root).read == 1


def test_secrets_are_hidden_before_anything_is_kept(store, root):
    write_files(root, {"a.py": 'KEY = "sesame-open"\n\n\ndef sesame_reader():\n    pass\n'})
    scan_folder(store, root, hide_secrets=lambda data: data.replace(b"sesame-open", b"x" * 11))
    kept = b"".join(path.read_bytes() for path in store.path.parent.glob("map.sqlite3*"))
    assert b"sesame-open" not in kept
    assert b"sesame_reader" in kept  # the positive control


def test_a_damaged_map_is_made_anew(tmp_path, root):
    path = tmp_path / "map.sqlite3"
    path.write_bytes(b"no database at all, but long enough to be looked into" * 100)
    write_files(root, APP)
    store = MapStore(path)
    assert scan_folder(store, root).files == len(APP)
    store.close()


def test_a_parser_that_cannot_read_a_file_costs_it_its_structure(store, root):
    write_files(root, {"deep.py": "(" * 200_000, "a.py": "def f():\n    pass\n"})
    scan_folder(store, root)
    files = read_files(store.db)
    assert set(files) <= {"a.py", "deep.py"}
    assert [one.name for one in read_symbols(store.db, files["a.py"].id)] == ["f"]


def test_a_folder_without_a_repository_has_no_history_and_says_so(store, root):
    write_files(root, APP)
    assert scan_folder(store, root).notes == ("no history: no git repository found",)


def test_paths_of_history_are_relative_to_a_folder_within(store, root):
    write_files(root, {"part/a.py": "x = 1\n", "b.py": "y = 1\n"})
    commit_all(root, "Teach penguins to fly")
    scan_folder(store, root / "part")
    rows = store.db.execute("SELECT path FROM commit_file").fetchall()
    assert rows == [("a.py",)]
    assert Path(root / "part/a.py").exists()
