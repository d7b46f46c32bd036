"""A registry of npm's kind with packages that a test makes."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

from tests.executor.packages.served import BYTES, JSON, Served

OLD = "2020-01-01T00:00:00.000Z"


@dataclass
class Registry:
    """The registry that a server serves; `add` puts a release into it."""

    served: Served
    known: dict[str, dict[str, object]] = field(default_factory=dict)

    def add(
        self,
        name: str,
        version: str = "1.0.0",
        files: Mapping[str, str] | None = None,
        *,
        requires: Mapping[str, str] | None = None,
        scripts: Mapping[str, str] | None = None,
        released: str = OLD,
        integrity: str = "",
        at: str = "",
    ) -> None:
        """A release of a package."""
        about = {
            "name": name,
            "version": version,
            "main": "index.js",
            "dependencies": dict(requires or {}),
            "scripts": dict(scripts or {}),
        }
        packed = tarball({"package.json": json.dumps(about), **(files or {})})
        path = f"/{name}/-/{name.rpartition('/')[2]}-{version}.tgz"
        self.served.files[path] = (BYTES, packed)
        digest = base64.b64encode(hashlib.sha512(packed).digest()).decode()
        about["dist"] = {
            "tarball": f"{at or self.served.url}{path}",
            "integrity": integrity or f"sha512-{digest}",
        }
        if scripts:
            about["hasInstallScript"] = True
        entry = self.known.setdefault(name, {"name": name, "versions": {}, "time": {}})
        entry["versions"][version] = about
        entry["time"][version] = released
        entry["dist-tags"] = {"latest": version}
        page = (JSON, json.dumps(entry).encode())
        self.served.files[f"/{name}"] = self.served.files[f"/{quote(name, safe='@')}"] = page


def tarball(files: Mapping[str, str]) -> bytes:
    """A package as npm packs it."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(f"package/{name}")
            info.size, info.mode = len(text.encode()), 0o644
            archive.addfile(info, io.BytesIO(text.encode()))
    return packed.getvalue()
