"""Package managers' supplies made from what is on this machine: wheels, and a registry of npm's."""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import subprocess
import threading
import zipfile
from collections.abc import Iterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.needs import need

S_MAX = 120.0


def wheels_of_installed(names: Iterable[str], folder: Path) -> None:
    """Pack installed pure distributions, and all that they require, as wheels."""
    pending, packed = [*names], set()
    while pending:
        name = canonicalize_name(pending.pop())
        if name in packed:
            continue
        packed.add(name)
        _pack_wheel(name, folder)
        for line in importlib.metadata.requires(name) or ():
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                pending.append(requirement.name)


def _pack_wheel(name: str, folder: Path) -> None:
    distribution = importlib.metadata.distribution(name)
    kept = [
        path
        for path in distribution.files or ()
        if not path.is_absolute() and ".." not in path.parts and path.suffix != ".pyc"
    ]
    info = next(path.parts[0] for path in kept if path.parts[0].endswith(".dist-info"))
    stem = info.removesuffix(".dist-info")
    record = f"{info}/RECORD"
    with zipfile.ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as wheel:
        for path in kept:
            if str(path) != record and path.name not in ("INSTALLER", "REQUESTED"):
                wheel.write(str(distribution.locate_file(path)), str(path))
        lines = [f"{path},,\n" for path in wheel.namelist()]
        wheel.writestr(record, "".join([*lines, f"{record},,\n"]))


@contextlib.contextmanager
def npm_registry(packages: Path) -> Iterator[str]:
    """The address of a registry of this machine that has the packages in these folders."""
    found: dict[str, bytes] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = found.get(self.path.lower())
            self.send_response(404 if body is None else 200)
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        address = f"http://127.0.0.1:{server.server_port}"
        for folder in packages.iterdir():
            found |= _published(folder, address)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield address
        finally:
            server.shutdown()
            thread.join()


def _published(folder: Path, address: str) -> dict[str, bytes]:
    """What the registry answers about one package, and its archive, as `npm pack` makes it."""
    need("npm")
    done = subprocess.run(
        ["npm", "pack", "--json", "--pack-destination", folder.parent.parent],
        cwd=folder,
        check=True,
        capture_output=True,
        timeout=S_MAX,
    )
    packed = json.loads(done.stdout)
    (told,) = packed if isinstance(packed, list) else packed.values()
    archive = f"/{told['name']}/-/{told['filename']}"
    dist = {"tarball": address + archive, "integrity": told["integrity"], "shasum": told["shasum"]}
    version = json.loads((folder / "package.json").read_text()) | {"dist": dist}
    document = {
        "name": told["name"],
        "dist-tags": {"latest": told["version"]},
        "versions": {told["version"]: version},
    }
    return {
        f"/{told['name']}": json.dumps(document).encode(),
        archive: (folder.parent.parent / told["filename"]).read_bytes(),
    }
