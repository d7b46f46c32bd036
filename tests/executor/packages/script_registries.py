"""Registries of PHP's and Lua's kinds with packages that a test makes."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping

from tests.executor.packages.other_registries import packed
from tests.executor.packages.served import BYTES, JSON, Served


def zipped(files: Mapping[str, str | bytes]) -> bytes:
    """An archive of zip's."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as out:
        for name, content in files.items():
            out.writestr(name, content)
    return archive.getvalue()


class Composed:
    """A registry of composer's."""

    def __init__(self, served: Served) -> None:
        self.served = served
        about = {"packages": [], "metadata-url": "/p2/%package%.json"}
        served.files["/packages.json"] = (JSON, json.dumps(about).encode())

    def add(
        self,
        name: str,
        code: str,
        *,
        requires: str = "",
        files: Mapping[str, str] | None = None,
        about: Mapping[str, object] | None = None,
        digest: str | None = None,
    ) -> dict[str, object]:
        """A release 1.0.0 with one file that is always loaded; its entry in a lock."""
        info = {
            "name": name,
            "version": "1.0.0",
            "autoload": {"files": ["code.php"]},
            "require": {requires: "^1"} if requires else {},
            **(about or {}),
        }
        content = zipped(
            {
                f"top/{path}": text
                for path, text in {
                    "composer.json": json.dumps(info),
                    "code.php": f"<?php\n{code}",
                    **(files or {}),
                }.items()
            }
        )
        place = f"/dist/{name}-1.0.0.zip"
        self.served.files[place] = (BYTES, content)
        shasum = hashlib.sha1(content).hexdigest() if digest is None else digest
        dist = {"type": "zip", "url": self.served.url + place, "shasum": shasum}
        entry = {**info, "version_normalized": "1.0.0.0", "dist": dist}
        self.served.files[f"/p2/{name}.json"] = (
            JSON, json.dumps({"packages": {name: [entry]}}).encode(),
        )  # fmt: skip
        return entry


ROCKSPEC = """\
package = "{name}"
version = "1.0-1"
source = {{ url = "https://files.example.com/{name}-1.0.tar.gz", dir = "{name}-1.0" }}
dependencies = {{ "lua >= 5.1"{needs} }}
build = {{ {build} }}
"""


class Rocks:
    """A registry of LuaRocks' for every version of Lua."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self.known = ""
        self.list("")

    def list(self, row: str) -> None:
        """Add a row to the registry's index."""
        self.known += row
        index = f"commands = {{}}\nmodules = {{}}\nrepository = {{ {self.known} }}\n"
        for version in ("5.1", "5.2", "5.3", "5.4"):
            self.served.files[f"/manifest-{version}"] = (BYTES, index.encode())

    def add(
        self,
        name: str,
        code: str,
        *,
        requires: str = "",
        spec: str = ROCKSPEC,
        build: str = "",
        files: Mapping[str, str] | None = None,
    ) -> None:
        """A release 1.0-1 of one module, as a source."""
        build = build or f'type = "builtin", modules = {{ {name} = "{name}.lua" }}'
        needs = f', "{requires} >= 1"' if requires else ""
        source = packed({f"{name}-1.0/{name}.lua": code.encode()}, "w:gz")
        rock = zipped(
            {
                f"{name}-1.0-1.rockspec": spec.format(name=name, needs=needs, build=build),
                f"{name}-1.0.tar.gz": source,
                **(files or {}),
            }
        )
        self.served.files[f"/{name}-1.0-1.src.rock"] = (BYTES, rock)
        self.list(f'{name} = {{ ["1.0-1"] = {{ {{ arch = "src" }}, {{ arch = "rockspec" }} }} }},')
