"""Registries of PHP's, Lua's and Perl's kinds with packages that a test makes."""

from __future__ import annotations

import gzip
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


MAKEFILE = """\
use ExtUtils::MakeMaker;
WriteMakefile(NAME => '{name}', VERSION => '1.0', PREREQ_PM => {{ {needs} }});
"""


class Distributions:
    """A registry of CPAN's kind."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self.known = ""
        self.list("")

    def list(self, row: str) -> None:
        """Add a row to the registry's index."""
        self.known += row
        index = f"File: 02packages.details.txt\n\n{self.known}"
        self.served.files["/modules/02packages.details.txt.gz"] = (
            BYTES, gzip.compress(index.encode()),
        )  # fmt: skip

    def add(
        self,
        name: str,
        code: str,
        *,
        requires: str = "",
        makefile: str = MAKEFILE,
        files: Mapping[str, str] | None = None,
    ) -> str:
        """A release 1.0 of one module; its path."""
        needs = {requires: "1"} if requires else {}
        meta = {
            "name": name, "version": "1.0", "abstract": "a", "author": ["A"],
            "license": ["perl_5"], "generated_by": "a", "release_status": "stable",
            "dynamic_config": 0, "meta-spec": {"version": "2"},
            "prereqs": {"runtime": {"requires": {"strict": "0", **needs}}},
        }  # fmt: skip
        listed = ", ".join(f"'{module}' => {version}" for module, version in needs.items())
        contents = {
            "META.json": json.dumps(meta),
            "Makefile.PL": makefile.format(name=name, needs=listed),
            f"lib/{name}.pm": f"package {name};\nour $VERSION = '1.0';\n{code}\n1;\n",
        }
        archive = packed(
            {path: text.encode() for path, text in (files or {}).items()}
            | {f"{name}-1.0/{path}": text.encode() for path, text in contents.items()},
            "w:gz",
        )
        path = f"A/AC/ACME/{name}-1.0.tar.gz"
        self.served.files[f"/authors/id/{path}"] = (BYTES, archive)
        self.list(f"{name}  1.0  {path}\n")
        return path
