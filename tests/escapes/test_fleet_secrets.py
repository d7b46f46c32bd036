"""A worker that dumps all it was given of a project and an order finds no secret in it.

Each secret is planted, then all that would travel is brought to a worker's cache, laid out there
and read whole. As a control the same is done without the guard: then each secret is among it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from executor.model import Limits, Request
from executor.project.view.search import ProjectSearch
from executor.request import ANALYZE
from fleet import model
from fleet import snapshot as packing
from fleet import snapshot as snapshots
from fleet.blob_cache import BlobCache, find_missing
from fleet.model import PROTOCOL, Order
from fleet.seal import open_order, seal_order
from fleet.snapshot import ChangedError, Snapshot, take
from fleet.tree import digest_of
from fleet.upload_filter import Guard, Terms
from policy import HiddenPaths
from policy.model import Rules
from tests.fleet.laying_out import lay_out

# Put together here, so that this file holds none. Both are searched for in all that travels.
PLAIN = b"correct-horse-" + b"battery-staple"  # no token: secret by where it is
TOKEN = b"ghp_" + b"a1B2c3D4e5F6" * 3
KEY_LINE = b"MIIEpAIBAAKCAQEA1c7+9z5Pad7OejecsQ0bu3aumyg9"
PRIVATE_KEY = b"-----BEGIN " + b"RSA PRIVATE KEY-----\n" + KEY_LINE * 6
SECRETS = (PLAIN, TOKEN, KEY_LINE)


@dataclass(frozen=True, slots=True)
class Plant:
    """A secret in a project: files by path, what else is done, and how rules deny it."""

    id: str
    files: dict[str, bytes]
    then: Callable[[Path], object] = lambda _: None
    deny: Callable[[Path, ProjectSearch], object] = lambda _project, _search: None


def _deny(*patterns: str) -> Callable[[Path, ProjectSearch], object]:
    def deny(project: Path, search: ProjectSearch) -> None:
        found = tuple((pattern, str(project)) for pattern in patterns)
        search.deny(HiddenPaths((), found))

    return deny


NAMES = (
    *(".env", ".ENV", ".env.production", "prod.env", ".npmrc", ".pypirc", ".netrc", "id_rsa"),
    *("server.key", "tls.pem", "credentials.json", ".git-credentials", "main.tfstate", ".pgpass"),
    *(".env~", ".env.bak", "#.env#", ".env.swp", "id_ed25519.old", "id_rsa (1)", "a/b/c/.env"),
    *(".aws/sso/cache/x.json", ".docker/config.json", ".kube/config", ".config/gh/hosts.yml"),
    *("lib/site-packages/pkg/.env", "vendor/x/id_ecdsa", ".git/config", "node_modules/p/.npmrc"),
)
PLANTS = (
    *(Plant(f"named {name}", {name: PLAIN}) for name in NAMES),
    Plant("token in code", {"src/a.py": b"key = '" + TOKEN + b"'\n"}),
    Plant("token in a note", {"notes.md": b"# Keys\n\n" + TOKEN + b"\n"}),
    Plant("token among bytes", {"data.bin": bytes(range(256)) * 50 + TOKEN + b"\0\xff"}),
    Plant("token at the end of a large file", {"big.log": b"line\n" * 200_000 + TOKEN}),
    Plant("token in an example", {".env.example": b"GITHUB_TOKEN=" + TOKEN}),
    Plant("private key in code", {"sign.py": b'KEY = """' + PRIVATE_KEY + b'"""'}),
    Plant("private key in JSON", {"a.json": b'{"key": "' + PRIVATE_KEY + b'"}'}),
    Plant("rule denies a file", {"plans.txt": PLAIN}, deny=_deny("/plans.txt")),
    Plant("rule denies a folder", {"private/a/b.txt": PLAIN}, deny=_deny("/private/**")),
    Plant("rule denies an ending", {"x/y.secret": PLAIN}, deny=_deny("**/*.secret")),
    Plant("link to a secret", {".env": PLAIN}, lambda top: (top / "shown.txt").symlink_to(".env")),
    Plant("secret is a link", {"shown": PLAIN}, lambda top: (top / ".env").symlink_to("shown")),
    Plant(
        "secret is a link to a link",
        {"shown": PLAIN},
        lambda top: ((top / "way").symlink_to("shown"), (top / ".env").symlink_to("way")),
    ),
    Plant("hard link of a secret", {".env": PLAIN}, lambda top: os.link(top / ".env", top / "n")),
    Plant(
        "hard link of what a rule denies",
        {"private/a": PLAIN},
        lambda top: os.link(top / "private/a", top / "a"),
        _deny("/private/**"),
    ),
    Plant(
        "hard link of the server's own",
        {"state/kb/text": PLAIN},
        lambda top: os.link(top / "state/kb/text", top / "a"),
        lambda project, search: search.hide([project / "state"]),
    ),
    Plant(
        "link to what a rule denies",
        {"private/a": PLAIN},
        lambda top: (top / "a").symlink_to("private/a"),
        _deny("/private/**"),
    ),
    Plant(
        "folder that is the server's own",
        {"state/kb.txt": PLAIN},
        deny=lambda project, search: search.hide([project / "state"]),
    ),
)


def plant(one: Plant, project: Path) -> ProjectSearch:
    """Write a plant beside files that are no secret."""
    for path, content in (
        {"src/main.py": b"print(1)\n", "README.md": b"# A\n"} | one.files
    ).items():
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_bytes(content)
    one.then(project)
    search = ProjectSearch(project)
    one.deny(project, search)
    return search


def dump(snapshot: Snapshot, worker: Path) -> bytes:
    """All that a worker has of a snapshot: cache, names, links and files as they are laid out."""
    cache = BlobCache(worker / "cache")
    while missing := find_missing(snapshot.root, cache):
        for digest in missing:
            cache.add(digest, snapshot.read(digest))
    lay_out(snapshot.root, cache, worker / "project")
    found = []
    for path in sorted(worker.rglob("*")):
        found.append(os.fsencode(path))
        if path.is_symlink():
            found.append(os.fsencode(os.readlink(path)))
        elif path.is_file():
            found.append(path.read_bytes())
    return b"\n".join(found)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("one", PLANTS, ids=lambda one: one.id)
def test_a_worker_that_dumps_its_tree_has_no_secret(one: Plant, project: Path, tmp_path: Path):
    snapshot = take(plant(one, project), Terms(), {})
    dumped = dump(snapshot, tmp_path / "worker")
    assert b"print(1)" in dumped
    assert not any(secret in dumped for secret in SECRETS)


@pytest.mark.parametrize("one", PLANTS, ids=lambda one: one.id)
def test_without_the_guard_it_has_it(
    one: Plant, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(Guard, "keeps", lambda *_: False)
    monkeypatch.setattr(snapshots, "find_form", lambda _: "")
    snapshot = take(plant(one, project), Terms(leave_out=()), {})
    dumped = dump(snapshot, tmp_path / "worker")
    assert any(secret in dumped for secret in SECRETS)


def test_a_link_that_leads_out_brings_nothing(project: Path, tmp_path: Path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "notes").write_bytes(PLAIN)
    (project / "file").symlink_to(outside / "notes")
    (project / "folder").symlink_to(outside)
    snapshot = take(plant(Plant("", {}), project), Terms(), {})
    assert PLAIN not in dump(snapshot, tmp_path / "worker")


def test_a_file_that_becomes_a_secret_after_the_look_is_not_sent(project: Path, tmp_path: Path):
    one = Plant("", {"a": b"1" * len(TOKEN), "b": b"2" * len(PLAIN)})
    snapshot = take(plant(one, project), Terms(), {})
    (project / "a").write_bytes(TOKEN)
    (project / ".env").write_bytes(PLAIN)
    (project / "b").unlink()
    (project / "b").symlink_to(".env")
    sent, refused = [], []
    for digest in snapshot.digests:
        try:
            sent += snapshot.read(digest)
        except ChangedError as error:
            refused.append(str(error))
    assert b"print(1)\n" in sent
    assert len(refused) == 2
    assert not any(secret.decode() in said for secret in SECRETS for said in refused)
    assert not any(secret in piece for secret in SECRETS for piece in sent)


REQUESTS = {
    "env by name": {"env": {"DB_PASSWORD": PLAIN.decode()}},
    "env by value": {"env": {"A": TOKEN.decode()}},
    "env, an address": {"env": {"A": f"https://me:{TOKEN.decode()}@host/x"}},
    "stdin": {"stdin": b"line\n" * 1_000 + TOKEN},
    "stdin, a private key": {"stdin": PRIVATE_KEY},
    "file by name": {"files": {"conf/.env": PLAIN}},
    "file by content": {"files": {"a.txt": b"\0\xff" + TOKEN}},
    "code": {"code": f"print('{TOKEN.decode()}')"},
    "code, assigned": {"code": f'db_password = "{PLAIN.decode()}7"'},
    "argument": {"args": ("--key", TOKEN.decode())},
    "intent": {"intent": TOKEN.decode()},
}


def order_of(request: Request) -> bytes | None:
    """The sealed order of a request, as long as no value of it is secret."""
    if packing.find_secret(request):
        return None
    root, rules = digest_of(b""), Rules(())
    order = Order("run-0001", "me", request, root, rules, ANALYZE, Limits(), "/project", 2e9)
    return seal_order(model.encode(order), KEY, PROTOCOL)


KEY = Ed25519PrivateKey.generate()


def given(sealed: bytes) -> bytes:
    """All values of a request that a worker reads in an order, as the program would have them."""
    keys = {"front": (KEY.public_key().public_bytes_raw(), frozenset("*"))}
    request = open_order(sealed, keys, PROTOCOL, 0.0, partial(model.decode, Order)).request
    texts = [request.code or "", request.intent or "", *request.args, *request.env.values()]
    return b"\n".join([*map(str.encode, texts), request.stdin or b"", *request.files.values()])


@pytest.mark.parametrize("values", REQUESTS.values(), ids=REQUESTS)
def test_no_order_is_made_of_a_request_with_a_secret(values: dict[str, object]):
    assert order_of(Request("python", **{"code": "1", **values})) is None


@pytest.mark.parametrize("values", REQUESTS.values(), ids=REQUESTS)
def test_without_the_check_the_secret_is_in_the_order(
    values: dict[str, object], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(packing, "find_secret", lambda _: "")
    sealed = order_of(Request("python", **{"code": "1", **values}))
    assert sealed is not None
    assert any(secret in given(sealed) for secret in SECRETS)


def test_a_request_without_a_secret_is_ordered():
    sealed = order_of(Request("python", "print(1)", env={"A": "1"}, stdin=b"x"))
    assert sealed is not None
    assert given(sealed).startswith(b"print(1)")
