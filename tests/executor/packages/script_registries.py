"""Registries of PHP's kind with packages that a test makes."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping

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
