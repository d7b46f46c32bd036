"""What of a project travels: all that is no secret, and nothing of what is."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from executor.model import RequestError
from executor.project.view.search import ProjectSearch
from executor.project.view.tree import DEPTH_MAX
from executor.project.view.tree import Tree as OpenTree
from fleet import snapshot as snapshots
from fleet import upload_filter
from fleet.snapshot import SEARCHED_BYTES_MAX, ChangedError, Snapshot, take
from fleet.tree import digest_of, read_tree
from fleet.upload_filter import BYTES_MAX_CEILING, StaysHereError, Terms
from policy import HiddenPaths
from tests.fleet.conftest import Take

# Put together here, so that this file holds none.
TOKEN = b"ghp_" + b"a1B2c3D4e5F6" * 3
PRIVATE_KEY = (
    b"-----BEGIN "
    + b"RSA PRIVATE KEY-----\n"
    + b"MIIEpAIBAAKCAQEA1c7+9z5Pad7OejecsQ0bu3aumyg9\n" * 6
)


def paths(snapshot: Snapshot) -> dict[str, object]:
    """Everything in a tree by path: a file's digest, a link's target, None of a folder."""
    entries = read_tree(snapshot.encoded).values()
    return {one.path: one.target if one.digest is None else one.digest for one in entries}


def write(project: Path, files: dict[str, bytes]) -> None:
    for path, content in files.items():
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_bytes(content)


def settle(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have everything be old enough to be known by its times."""
    monkeypatch.setattr(snapshots, "SETTLED_NS", -(10**18))


def test_files_folders_and_links_travel(project: Path, snap: Take):
    write(project, {"a": b"1", "src/b.sh": b"22", "src/deep/c": b""})
    (project / "src/b.sh").chmod(0o755)
    (project / "empty").mkdir()
    (project / "link").symlink_to("src/b.sh")
    (project / "out").symlink_to("/etc/passwd")
    (project / "nowhere").symlink_to("gone")
    snapshot = snap()
    assert paths(snapshot) == {
        "a": digest_of(b"1"),
        "src": None,
        "src/b.sh": digest_of(b"22"),
        "src/deep": None,
        "src/deep/c": digest_of(b""),
        "empty": None,
        "link": "src/b.sh",
        "out": "/etc/passwd",
        "nowhere": "gone",
    }
    assert snapshot.left_out == {}
    contents = {digest: b"".join(snapshot.read(digest)) for digest in snapshot.digests}
    assert all(digest_of(content) == digest for digest, content in contents.items())
    assert set(contents.values()) >= {b"1", b"22", b""}


def test_whether_a_file_is_executable_is_in_the_tree(project: Path, snap: Take):
    write(project, {"a": b"1"})
    before = snap().root
    (project / "a").chmod(0o755)
    assert snap().root != before


SECRETS = {
    ".env": b"A=1",
    "keys/id_rsa": b"x",
    "node/.npmrc": b"x",
    "deep/.aws/sso/cache/t.json": b"x",
    "lib/site-packages/pkg/__init__.py": b"",
    "lib/site-packages/pkg/server.pem": b"x",
}


def test_what_bears_a_secrets_name_stays_also_among_installed_packages(project: Path, snap: Take):
    write(project, {**SECRETS, "deep/.aws/config.py": b"y"})
    found = paths(snap())
    assert not set(found) & set(SECRETS) - {"lib/site-packages/pkg/__init__.py"}
    assert {"deep/.aws/config.py", "lib/site-packages/pkg/__init__.py"} <= set(found)
    secret = {path for path, reason in snap().left_out.items() if reason == "secret"}
    assert secret == set(SECRETS) - {"lib/site-packages/pkg/__init__.py"}


def test_a_secret_stays_under_every_other_name(project: Path, snap: Take):
    write(project, {"production": b"A=1", ".netrc": b"machine x", "plain": b"p"})
    (project / ".env").symlink_to("production")
    os.link(project / ".netrc", project / "notes.txt")
    assert paths(snap()) == {"plain": digest_of(b"p"), ".env": "production"}


@pytest.mark.parametrize(
    "denied",
    [
        lambda project: HiddenPaths((f"{project}/private",)),
        lambda project: HiddenPaths((), (("/private/**", str(project)),)),
        lambda _: HiddenPaths((), (("inner", None),)),
    ],
)
def test_what_rules_deny_to_read_stays(project: Path, denied):
    write(project, {"private/inner/a": b"1", "b": b"2"})
    search = ProjectSearch(project)
    search.deny(denied(project))
    found = paths(take(search, Terms(), {}))
    assert "b" in found
    assert digest_of(b"1") not in found.values()


def test_a_file_of_several_names_stays_where_denied_folders_are_too_large_to_tell(
    project: Path, monkeypatch: pytest.MonkeyPatch
):
    write(project, {"private/a": b"1", "private/b": b"2", "c": b"3", "d": b"4"})
    os.link(project / "private/a", project / "e")
    os.link(project / "c", project / "f")
    search = ProjectSearch(project)
    search.deny(HiddenPaths((f"{project}/private",)))
    assert set(paths(take(search, Terms(), {}))) == {"c", "d", "f"}
    monkeypatch.setattr(upload_filter, "COPY_ENTRIES_MAX", 2)
    assert set(paths(take(search, Terms(entries_max=9), {}))) == {"d"}


def test_what_settings_leave_out_stays_at_any_depth(project: Path, snap: Take):
    write(project, {".git/HEAD": b"x", "a/node_modules/b/c.js": b"x", "a/target": b"a file"})
    assert set(paths(snap())) == {"a", "a/target"}
    assert snap().left_out == {".git": "leave_out", "a/node_modules": "leave_out"}
    assert ".git/HEAD" in paths(snap(leave_out=()))


def test_sockets_and_fifos_stay(project: Path, snap: Take, monkeypatch: pytest.MonkeyPatch):
    os.mkfifo(project / "pipe")
    monkeypatch.chdir(project)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("sock")
        snapshot = snap()
    assert paths(snapshot) == {}
    assert snapshot.left_out == {"pipe": "special", "sock": "special"}


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"TOKEN = '" + TOKEN + b"'\n", "github-token"),
        (b"\0\1" * 500 + TOKEN, "github-token"),
        (PRIVATE_KEY, "private-key"),
        (TOKEN.rjust(SEARCHED_BYTES_MAX, b"\n"), "github-token"),
    ],
)
def test_a_file_with_a_token_stays_and_is_named(project: Path, snap: Take, content, kind):
    write(project, {"src/config.py": content, "src/plain.py": b"password = input()\n"})
    snapshot = snap()
    assert set(paths(snapshot)) == {"src", "src/plain.py"}
    assert snapshot.left_out == {"src/config.py": kind}


def test_a_token_is_known_without_reading_it_again(
    project: Path, snap: Take, monkeypatch: pytest.MonkeyPatch
):
    known: dict = {}
    settle(project, monkeypatch)
    write(project, {"a": TOKEN, "b": b"b"})
    snap(known)
    monkeypatch.setattr(snapshots, "_examine", lambda *_: pytest.fail("it was read"))
    snapshot = snap(known)
    assert set(paths(snapshot)) == {"b"}
    assert snapshot.left_out == {"a": "github-token"}


def test_only_what_changed_is_read_again(
    project: Path, snap: Take, monkeypatch: pytest.MonkeyPatch
):
    known: dict = {}
    settle(project, monkeypatch)
    write(project, {"a": b"1", "b": b"2", "c/d": b"3"})
    first = snap(known)
    (project / "b").write_bytes(b"4")
    os.utime(project / "b", ns=(0, 0))
    (project / "a").rename(project / "e")
    read: list[int] = []
    examine = snapshots._examine
    monkeypatch.setattr(
        snapshots, "_examine", lambda fd, size: read.append(size) or examine(fd, size)
    )
    second = snap(known)
    # A new name is a change to the kernel, too.
    assert len(read) == 2
    assert set(second.digests) - set(first.digests) == {second.root, digest_of(b"4")}


def test_what_changed_just_now_is_read_again(project: Path, snap: Take):
    known: dict = {}
    write(project, {"a": b"1"})
    snap(known)
    assert known == {}


def test_files_that_are_gone_are_forgotten(
    project: Path, snap: Take, monkeypatch: pytest.MonkeyPatch
):
    known: dict = {}
    settle(project, monkeypatch)
    write(project, {f"{n}": b"%d" % n for n in range(9)})
    snap(known)
    for n in range(8):
        (project / f"{n}").unlink()
    snap(known)
    assert len(known) == 1


def test_a_file_that_changes_while_it_is_read_is_read_twice_more(
    project: Path, snap: Take, monkeypatch: pytest.MonkeyPatch
):
    write(project, {"log": b"1"})
    examine, times = snapshots._examine, []

    def write_meanwhile(descriptor: int, size: int):
        found = examine(descriptor, size)
        times.append(size)
        if len(times) <= until:
            with open(project / "log", "ab") as log:
                log.write(b"2")
        return found

    monkeypatch.setattr(snapshots, "_examine", write_meanwhile)
    until = 2
    assert paths(snap()) == {"log": digest_of(b"122")}
    assert len(times) == 3
    until = 10
    with pytest.raises(RequestError, match="log changed each of the 3 times") as told:
        snap()
    assert len(times) == 6
    assert "leave_out" in told.value.hint


def test_what_changed_after_the_snapshot_is_not_sent(project: Path, snap: Take):
    large = SEARCHED_BYTES_MAX + 1
    write(
        project,
        {"gone": b"1", "same size": b"2", "grown": b"3", "cut": b"555", "large": bytes(large)},
    )
    snapshot = snap()
    (project / "gone").unlink()
    (project / "gone").symlink_to("/etc/passwd")
    write(
        project, {"same size": b"x", "grown": b"34", "cut": b"5", "large": b"x" + bytes(large - 1)}
    )
    for digest, path in snapshot.files.items():
        sent: list[bytes] = []
        with pytest.raises(ChangedError, match=path):
            sent.extend(snapshot.read(digest))
        assert sent == [] or path == "large"  # which is not searched for tokens either


def test_a_project_over_a_cap_is_told_with_its_largest_folders(project: Path, snap: Take):
    write(project, {"data/raw/a": bytes(3000), "data/b": bytes(10), "src/c": bytes(5)})
    with pytest.raises(RequestError, match="3,015 bytes") as told:
        snap(bytes_max=3014)
    assert told.value.hint.index("data ") < told.value.hint.index("data/raw ")
    assert told.value.hint.index("data/raw ") < told.value.hint.index("src ")
    assert len(paths(snap(bytes_max=3015, entries_max=6))) == 6
    with pytest.raises(RequestError, match="6 entries"):
        snap(entries_max=5)


def test_a_cap_above_what_engines_carry_is_refused():
    with pytest.raises(ValueError, match="4 GiB"):
        Terms(bytes_max=BYTES_MAX_CEILING + 1)


def test_a_name_that_is_no_utf8_keeps_the_run_here(project: Path, snap: Take):
    (project / "a\udcff").write_bytes(b"1")
    with pytest.raises(StaysHereError, match="UTF-8"):
        snap()
    (project / "a\udcff").unlink()
    (project / "link").symlink_to("b\udcff")
    with pytest.raises(StaysHereError):
        snap()


def test_such_a_name_does_not_matter_in_what_stays(project: Path, snap: Take):
    (project / "target").mkdir()
    (project / "target" / "a\udcff").write_bytes(b"1")
    os.mkfifo(project / "b\udcff")
    assert paths(snap()) == {}


@pytest.mark.parametrize(
    "exchange",
    [
        lambda path, _: path.symlink_to("../.env"),
        lambda path, secret: os.link(secret, path),
        lambda path, _: os.mkfifo(path),
    ],
)
def test_a_file_that_becomes_another_meanwhile_is_not_read(
    project: Path, snap: Take, monkeypatch: pytest.MonkeyPatch, exchange
):
    write(project, {"a/b": b"1", ".env": b"SECRET"})
    read_files = snapshots.read_files

    def exchange_first(*given):
        (project / "a" / "b").unlink()
        exchange(project / "a" / "b", project / ".env")
        return read_files(*given)

    monkeypatch.setattr(snapshots, "read_files", exchange_first)
    assert paths(snap()) == {"a": None}


def test_what_this_user_cannot_read_stays_and_is_named(
    project: Path, snap: Take, monkeypatch: pytest.MonkeyPatch
):
    write(project, {"a": b"1", "closed": b"2"})
    opens = OpenTree.open

    def open_some(self: OpenTree, path: str) -> int:
        if path == "closed":
            raise PermissionError(path)
        return opens(self, path)

    monkeypatch.setattr(OpenTree, "open", open_some)
    snapshot = snap()
    assert set(paths(snapshot)) == {"a"}
    assert snapshot.left_out == {"closed": "closed"}


def test_what_lies_too_deep_stays_and_is_named(project: Path, snap: Take):
    (project / "/".join("d" * (DEPTH_MAX + 2))).mkdir(parents=True)
    snapshot = snap()
    assert len(paths(snapshot)) == DEPTH_MAX
    assert list(snapshot.left_out.values()) == ["closed"]
