"""A simple index of Python's with wheels that a test makes (PEP 503, PEP 691, PEP 427)."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.executor.packages.served import BYTES, Served

KIND = "application/vnd.pypi.simple.v1+json"
OLD = "2020-01-01T00:00:00Z"


@dataclass
class Index:
    """The index that a server serves; `add` puts a release into it."""

    served: Served
    releases: dict[str, list[dict[str, object]]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"{self.served.url}/simple"

    def add(
        self,
        name: str,
        version: str = "1.0",
        files: Mapping[str, bytes] | None = None,
        *,
        requires: Sequence[str] = (),
        uploaded: str | None = OLD,
        yanked: str = "",
        sdist: bytes | None = None,
        digest: str = "",
        at: str = "",
    ) -> bytes:
        """A release with a wheel, or with a source archive alone; its content."""
        content = sdist or wheel(name, version, files or {f"{name}.py": b"VALUE = 1\n"}, requires)
        end = ".tar.gz" if sdist else "-py3-none-any.whl"
        path = f"/files/{name}-{version}{end}"
        self.served.files[path] = (BYTES, content)
        entry: dict[str, object] = {
            "filename": path.rpartition("/")[2],
            "url": f"{at or self.served.url}{path}",
            "hashes": {"sha256": digest or hashlib.sha256(content).hexdigest()},
        }
        if uploaded:
            entry["upload-time"] = uploaded
        if yanked:
            entry["yanked"] = yanked
        self._list(name, entry)
        return content

    def add_file(self, path: Path) -> None:
        """A release whose wheel is a file."""
        content = path.read_bytes()
        self.served.files[f"/files/{path.name}"] = (BYTES, content)
        entry: dict[str, object] = {
            "filename": path.name,
            "url": f"{self.served.url}/files/{path.name}",
            "hashes": {"sha256": hashlib.sha256(content).hexdigest()},
            "upload-time": OLD,
        }
        self._list(path.name.partition("-")[0].lower().replace("_", "-"), entry)

    def _list(self, name: str, entry: dict[str, object]) -> None:
        self.releases.setdefault(name, []).append(entry)
        page = {"meta": {"api-version": "1.1"}, "name": name, "files": self.releases[name]}
        self.served.files[f"/simple/{name}/"] = (KIND, json.dumps(page).encode())


def wheel(
    name: str, version: str, files: Mapping[str, bytes], requires: Sequence[str] = ()
) -> bytes:
    """A wheel of pure Python whose files have any names."""
    info = f"{name}-{version}.dist-info"
    needs = "".join(f"Requires-Dist: {need}\n" for need in requires)
    every = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\n"
        "Tag: py3-none-any\n",
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        rows = []
        for path, text in every.items():
            content = text.encode() if isinstance(text, str) else text
            archive.writestr(path, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
            rows.append(f"{path},sha256={digest.decode()},{len(content)}\n")
        archive.writestr(f"{info}/RECORD", "".join([*rows, f"{info}/RECORD,,\n"]))
    return packed.getvalue()
