"""Which engine a URL opens, and what is told of one that does not do."""

from __future__ import annotations

import builtins
import sys
from pathlib import Path

import pytest

from fleet.engines import ENGINES, open_engine
from fleet.engines.address import Address, parse_address
from fleet.engines.credentials import Credentials, read_credentials
from fleet.engines.serving import Serving, serve
from fleet.errors import ClusterError
from tests.fleet.engines.fake_doer import FakeDoer

PORTS = {scheme: row.port for scheme, row in ENGINES.items()}
NOWHERE = Credentials(Path("/nonexistent"), Path("/nonexistent"), Path("/nonexistent"))
PEM = b"-----BEGIN SOMETHING-----\n"


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("grpcs://grid.example", Address("grpcs", "grid.example", 8980)),
        ("grpcs://grid.example:1/main", Address("grpcs", "grid.example", 1, "main")),
        ("GRPCS://Grid.example/a/b/", Address("grpcs", "grid.example", 8980, "a/b")),
        ("grpc://[::1]:50051", Address("grpc", "::1", 50051)),
        ("dask+tls://grid.example", Address("dask+tls", "grid.example", 8786)),
    ],
)
def test_a_url_is_taken_apart(url, address):
    assert parse_address(url, PORTS) == address


def test_a_target_has_ipv6_in_brackets():
    assert Address("grpc", "::1", 1).target == "[::1]:1"
    assert Address("grpc", "grid.example", 1).target == "grid.example:1"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("ftp://x", "no engine has the scheme 'ftp'"),
        ("grid.example:8980", "no engine has the scheme"),
        ("", "no engine has the scheme ''"),
        ("grpcs://", "names no host"),
        ("grpcs:///main", "names no host"),
        ("grpcs://x:99999", "Port out of range"),
        ("grpcs://x:0", "port 0"),
        ("grpcs://x:port", "can't be read"),
        ("grpcs://[::1", "can't be read"),
        ("grpcs://me:secret@x", "more than scheme, host, port, instance"),
        ("grpcs://x/?a=1", "more than scheme, host, port, instance"),
        ("grpcs://x/\n", "no URL has"),
        ("grpcs://" + "x" * 3000, "too long"),
        ("grpc://grid.example", "for this machine alone"),
        ("grpc://127.0.0.1.example", "for this machine alone"),
        ("dask://grid.example", "for this machine alone"),
    ],
)
def test_a_url_that_leads_to_no_engine_is_told_with_what_does(url, message):
    with pytest.raises(ClusterError, match=message) as told:
        open_engine(url, NOWHERE)
    assert "s://" in told.value.hint
    assert "secret" not in f"{told.value}"


@pytest.mark.parametrize("url", ["grpcs://grid.example", "dask+tls://grid.example"])
def test_an_engine_with_certificates_needs_them(url):
    with pytest.raises(ClusterError, match="needs certificates") as told:
        open_engine(url, None)
    assert "cluster.ca" in told.value.hint


@pytest.mark.parametrize(
    ("url", "blobs_url", "message", "hint"),
    [
        ("dask+tls://x", "", "keeps no files", "set cluster.blobs"),
        ("dask://localhost", "", "keeps no files", "set cluster.blobs"),
        ("grpcs://x", "s3://bucket/x", "keeps files itself", "remove cluster.blobs"),
    ],
)
def test_a_place_for_files_is_named_where_one_is_needed_and_only_there(
    url, blobs_url, message, hint
):
    with pytest.raises(ClusterError, match=message) as told:
        open_engine(url, NOWHERE, blobs_url)
    assert hint in told.value.hint


async def test_what_can_not_be_opened_can_not_be_served(tmp_path):
    how = Serving("worker", 1, ())
    for url, blobs_url, message in (
        ("ftp://x", "", "no engine has the scheme"),
        ("dask+tls://x", "", "keeps no files"),
        ("grpcs://x", "", r"cluster\.key can't be read"),
    ):
        with pytest.raises(ClusterError, match=message):
            await serve(url, NOWHERE, blobs_url, FakeDoer(tmp_path / "cache"), how)


@pytest.mark.parametrize(
    ("url", "module", "lacks"),
    [
        ("grpcs://x", "fleet.engines.reapi", ("grpc", "buildgrid")),
        ("dask+tls://x", "fleet.engines.dask", ("distributed", "fsspec")),
    ],
)
async def test_what_an_engine_lacks_is_named_with_what_installs_it(
    monkeypatch, tmp_path, url, module, lacks
):
    for name in [name for name in sys.modules if name.startswith(module)]:
        monkeypatch.delitem(sys.modules, name)
    real = builtins.__import__

    def lacking(name, *rest):
        if name.split(".")[0] in lacks:
            raise ModuleNotFoundError(f"No module named {name!r}", name=lacks[0])
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", lacking)
    extra = "dask" if "distributed" in lacks else "cluster"
    blobs_url = tmp_path.as_uri() if extra == "dask" else ""
    with pytest.raises(ClusterError, match=f"needs {lacks[0]}") as told:
        open_engine(url, NOWHERE, blobs_url)
    assert told.value.hint == f"pip install 'ctxmode[{extra}]'"
    with pytest.raises(ClusterError, match=f"needs {lacks[0]}"):
        await serve(url, NOWHERE, blobs_url, FakeDoer(tmp_path), Serving("worker", 1, ()))


@pytest.fixture
def files(tmp_path) -> Credentials:
    made = Credentials(*(tmp_path / name for name in ("ca.pem", "front.pem", "front.key")))
    for path in (made.ca, made.certificate, made.key):
        path.write_bytes(PEM + path.name.encode())
        path.chmod(0o600)
    return made


def test_credentials_are_read(files):
    pems = read_credentials(files)
    assert [pems.ca, pems.certificate, pems.key] == [
        PEM + name for name in (b"ca.pem", b"front.pem", b"front.key")
    ]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_key_that_others_may_read_is_refused_with_the_line_that_helps(files, mode):
    files.key.chmod(mode)
    with pytest.raises(ClusterError, match="others may read") as told:
        read_credentials(files)
    assert told.value.hint == f"chmod 600 {files.key}"


@pytest.mark.parametrize("part", ["ca", "certificate", "key"])
def test_a_file_that_does_not_do_is_named_by_its_setting(files, part):
    path = getattr(files, part)
    path.write_bytes(b"nothing")
    with pytest.raises(ClusterError, match=rf"cluster\.{part} is no PEM file"):
        read_credentials(files)
    path.unlink()
    with pytest.raises(ClusterError, match=rf"cluster\.{part} can't be read.*No such file"):
        read_credentials(files)
    path.mkdir()
    with pytest.raises(ClusterError, match=rf"cluster\.{part} can't be read"):
        read_credentials(files)
