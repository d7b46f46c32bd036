"""Registries of Ruby's, Go's and Rust's kinds with packages that a test makes."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
import zipfile
from collections.abc import Mapping

from tests.executor.packages.served import BYTES, JSON, Served

TEXT = "text/plain"


def packed(files: Mapping[str, bytes], mode: str = "w") -> bytes:
    """An archive of tar's."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode=mode, format=tarfile.USTAR_FORMAT) as out:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(content), 0o644
            out.addfile(info, io.BytesIO(content))
    return archive.getvalue()


GEMSPEC = """\
--- !ruby/object:Gem::Specification
name: {name}
version: !ruby/object:Gem::Version
  version: '{version}'
platform: ruby
authors:
- t
date: 2020-01-01 00:00:00.000000000 Z
summary: t
files:
- lib/{name}.rb
extensions: {extensions}
require_paths:
- lib
required_ruby_version: !ruby/object:Gem::Requirement
  requirements:
  - - ">="
    - !ruby/object:Gem::Version
      version: '0'
required_rubygems_version: !ruby/object:Gem::Requirement
  requirements:
  - - ">="
    - !ruby/object:Gem::Version
      version: '0'
rubygems_version: 3.3.15
specification_version: 4
"""


class Gems:
    """A server of gems with a compact index."""

    def __init__(self, served: Served) -> None:
        self.served = served
        served.files["/versions"] = (TEXT, b"created_at: 2020-01-01T00:00:00Z\n---\n")

    def add(self, name: str, code: str, *, requires: str = "", digest: str = "", extconf: str = ""):
        """A release 1.0 whose one file has this code."""
        files = {f"lib/{name}.rb": code.encode()}
        if extconf:
            files["ext/extconf.rb"] = extconf.encode()
        spec = GEMSPEC.format(
            name=name, version="1.0", extensions="[ext/extconf.rb]" if extconf else "[]"
        )
        gem = packed(
            {
                "metadata.gz": gzip.compress(spec.encode()),
                "data.tar.gz": gzip.compress(packed(files)),
            }
        )
        digest = digest or hashlib.sha256(gem).hexdigest()
        needs = f"{requires}:>= 0" if requires else ""
        self.served.files[f"/info/{name}"] = (
            TEXT, f"---\n1.0 {needs}|checksum:{digest}\n".encode(),
        )  # fmt: skip
        self.served.files[f"/gems/{name}-1.0.gem"] = (BYTES, gem)


class Modules:
    """A proxy of Go's modules."""

    def __init__(self, served: Served) -> None:
        self.served = served

    def add(self, path: str, code: str, *, requires: str = "") -> None:
        """A release v1.0.0 of one package."""
        needs = f"require {requires} v1.0.0\n" if requires else ""
        mod = f"module {path}\n\ngo 1.18\n\n{needs}"
        zipped = io.BytesIO()
        with zipfile.ZipFile(zipped, "w") as out:
            out.writestr(f"{path}@v1.0.0/go.mod", mod)
            out.writestr(f"{path}@v1.0.0/code.go", code)
        info = json.dumps({"Version": "v1.0.0", "Time": "2020-01-01T00:00:00Z"}).encode()
        for name, content in {
            "@v/list": b"v1.0.0\n",
            "@latest": info,
            "@v/v1.0.0.info": info,
            "@v/v1.0.0.mod": mod.encode(),
            "@v/v1.0.0.zip": zipped.getvalue(),
        }.items():
            self.served.files[f"/{path}/{name}"] = (BYTES, content)


class Sources:
    """A repository of R's source packages."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self.known = ""
        self.list("")

    def list(self, row: str) -> None:
        """Add a row to the repository's index."""
        self.known += row
        self.served.files["/src/contrib/PACKAGES"] = (TEXT, self.known.encode())

    def add(self, name: str, code: str, *, requires: str = "") -> None:
        """A release 1.0 that exports all that its code names."""
        needs = f"Imports: {requires}\n" if requires else ""
        about = (
            f"Package: {name}\nVersion: 1.0\nTitle: T\nDescription: D.\nAuthor: A\n"
            f"Maintainer: A <a@example.com>\nLicense: MIT\n{needs}"
        )
        spaces = f'exportPattern("^[a-zA-Z]")\n{f"import({requires})" if requires else ""}\n'
        files = {"DESCRIPTION": about, "NAMESPACE": spaces, f"R/{name}.R": code}
        archive = packed({f"{name}/{path}": text.encode() for path, text in files.items()}, "w:gz")
        self.served.files[f"/src/contrib/{name}_1.0.tar.gz"] = (BYTES, archive)
        self.list(f"Package: {name}\nVersion: 1.0\n{needs}\n")


class Crates:
    """A sparse index of crates."""

    def __init__(self, served: Served) -> None:
        self.served = served
        about = {"dl": f"{served.url}/crates"}
        served.files["/config.json"] = (JSON, json.dumps(about).encode())

    def add(
        self,
        name: str,
        code: str,
        *,
        requires: str = "",
        build: str = "",
        digest: str = "",
        yanked: bool = False,
    ) -> None:
        """A release 1.0.0 of a library."""
        needs = f'[dependencies]\n{requires} = "1"\n' if requires else ""
        manifest = f'[package]\nname = "{name}"\nversion = "1.0.0"\nedition = "2021"\n{needs}'
        files = {"Cargo.toml": manifest.encode(), "src/lib.rs": code.encode()}
        if build:
            files["build.rs"] = build.encode()
        crate = packed({f"{name}-1.0.0/{path}": text for path, text in files.items()}, "w:gz")
        row = {
            "name": name,
            "vers": "1.0.0",
            "deps": [
                {
                    "name": requires,
                    "req": "^1",
                    "features": [],
                    "optional": False,
                    "default_features": True,
                    "target": None,
                    "kind": "normal",
                }
            ]
            * bool(requires),
            "cksum": digest or hashlib.sha256(crate).hexdigest(),
            "features": {},
            "yanked": yanked,
        }
        place = f"/{name[:2]}/{name[2:4]}/{name}"
        self.served.files[place] = (TEXT, json.dumps(row).encode() + b"\n")
        self.served.files[f"/crates/{name}/1.0.0/download"] = (BYTES, crate)
