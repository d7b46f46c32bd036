"""Where a cluster's URL leads, and what is said of one that does not do."""

from __future__ import annotations

import builtins
import sys
from pathlib import Path

import pytest

from fleet.cluster import Cluster, ClusterError, Credentials, check_credentials, find_cluster
from fleet.front import open_cluster

NOWHERE = Credentials(Path("/nonexistent"), Path("/nonexistent"), Path("/nonexistent"))
BLOBS = "file:///shared"
PEM = b"-----BEGIN SOMETHING-----\n"


@pytest.mark.parametrize(
    ("url", "cluster", "scheduler"),
    [
        ("dask+tls://grid", Cluster("grid", 8786, NOWHERE, BLOBS), "tls://grid:8786"),
        ("dask+tls://grid:1/", Cluster("grid", 1, NOWHERE, BLOBS), "tls://grid:1"),
        ("DASK+TLS://Grid", Cluster("grid", 8786, NOWHERE, BLOBS), "tls://grid:8786"),
        ("dask://[::1]:50051", Cluster("::1", 50051, None, BLOBS), "tcp://[::1]:50051"),
        ("dask://localhost", Cluster("localhost", 8786, None, BLOBS), "tcp://localhost:8786"),
    ],
)
def test_a_url_is_taken_apart(url, cluster, scheduler):
    found = find_cluster(url, NOWHERE, BLOBS)
    assert (found, found.scheduler) == (cluster, scheduler)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("ftp://x", "only Dask clusters are supported, not 'ftp'"),
        ("grpcs://grid.example", "only Dask clusters are supported, not 'grpcs'"),
        ("grpc://127.0.0.1:8980/main", "only Dask clusters are supported, not 'grpc'"),
        ("grid.example:8786", "only Dask clusters are supported"),
        ("", "only Dask clusters are supported, not ''"),
        ("dask+tls://", "has no host"),
        ("dask+tls:///main", "has no host"),
        ("dask+tls://x:99999", "Port out of range"),
        ("dask+tls://x:0", "port 0"),
        ("dask+tls://x:port", "cannot read"),
        ("dask+tls://[::1", "cannot read"),
        ("dask+tls://me:secret@x", "more than scheme, host and port"),
        ("dask+tls://x/main", "more than scheme, host and port"),
        ("dask+tls://x/?a=1", "more than scheme, host and port"),
        ("dask+tls://x/\n", "invalid characters"),
        ("dask+tls://" + "x" * 3000, "too long"),
        ("dask://grid.example", "only for this machine"),
        ("dask://127.0.0.1.example", "only for this machine"),
    ],
)
def test_a_url_that_leads_to_no_cluster_is_refused_with_what_does(url, message):
    with pytest.raises(ClusterError, match=message) as caught:
        find_cluster(url, NOWHERE, BLOBS)
    assert "dask+tls://" in caught.value.hint
    assert "secret" not in f"{caught.value}"


@pytest.mark.parametrize(
    ("credentials", "blobs", "message", "hint"),
    [
        (None, BLOBS, "needs certificates", "cluster.ca"),
        (NOWHERE, "", "needs a folder for files", "Set cluster.blobs"),
    ],
)
def test_what_a_cluster_lacks_is_named(credentials, blobs, message, hint):
    with pytest.raises(ClusterError, match=message) as caught:
        find_cluster("dask+tls://grid.example", credentials, blobs)
    assert hint in caught.value.hint


@pytest.mark.parametrize("lacks", ["distributed", "fsspec"])
def test_what_is_not_installed_is_named_with_what_installs_it(monkeypatch, lacks):
    for name in [name for name in sys.modules if name.startswith("fleet.dask")]:
        monkeypatch.delitem(sys.modules, name)
    real = builtins.__import__

    def lacking(name, *rest, **named):
        if name.split(".")[0] == lacks:
            raise ModuleNotFoundError(f"No module named {name!r}", name=lacks)
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", lacking)
    with pytest.raises(ClusterError, match=f"needs {lacks}") as caught:
        open_cluster(find_cluster("dask+tls://x", NOWHERE, BLOBS))
    assert caught.value.hint == "pip install 'ctxmode[dask]'"


@pytest.fixture
def files(tmp_path) -> Credentials:
    made = Credentials(*(tmp_path / name for name in ("ca.pem", "front.pem", "front.key")))
    for path in (made.ca, made.certificate, made.key):
        path.write_bytes(PEM + path.name.encode())
        path.chmod(0o600)
    return made


def test_credentials_that_do_are_taken(files):
    check_credentials(files)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_key_that_others_may_read_is_refused_with_the_line_that_helps(files, mode):
    files.key.chmod(mode)
    with pytest.raises(ClusterError, match="others may read") as told:
        check_credentials(files)
    assert told.value.hint == f"chmod 600 {files.key}"


@pytest.mark.parametrize("part", ["ca", "certificate", "key"])
def test_a_file_that_does_not_do_is_named_by_its_setting(files, part):
    path = getattr(files, part)
    path.write_bytes(b"nothing")
    with pytest.raises(ClusterError, match=rf"cluster\.{part} is not a PEM file"):
        check_credentials(files)
    path.unlink()
    with pytest.raises(ClusterError, match=rf"cluster\.{part}: cannot read.*No such file"):
        check_credentials(files)
    path.mkdir()
    with pytest.raises(ClusterError, match=rf"cluster\.{part}: cannot read"):
        check_credentials(files)
