"""Registries of Java's kind with packages that a test makes."""

from __future__ import annotations

import hashlib
import io
import subprocess
import tempfile
import zipfile
from pathlib import Path

from tests.executor.packages.served import BYTES, Served

POM = """\
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>org.example</groupId><artifactId>{name}</artifactId><version>1.0</version>
  {needs}
</project>
"""
POM_NEEDS = (
    "<dependencies><dependency><groupId>org.example</groupId>"
    "<artifactId>{name}</artifactId><version>{version}</version></dependency></dependencies>"
)
METADATA = """\
<metadata>
  <groupId>org.example</groupId><artifactId>{name}</artifactId>
  <versioning><release>1.0</release><versions><version>1.0</version></versions></versioning>
</metadata>
"""


class Jars:
    """A Maven repository; a package is of the group org.example, and so is its one class."""

    def __init__(self, served: Served) -> None:
        self.served = served

    def add(
        self, name: str, code: str, *, requires: str = "", version: str = "1.0", sha1: str = ""
    ) -> None:
        """A release 1.0 of one class, compiled without what it needs."""
        needs = POM_NEEDS.format(name=requires, version=version) if requires else ""
        place = f"org/example/{name}"
        self._put(f"{place}/maven-metadata.xml", METADATA.format(name=name).encode())
        self._put(f"{place}/1.0/{name}-1.0.pom", POM.format(name=name, needs=needs).encode())
        self._put(f"{place}/1.0/{name}-1.0.jar", jar(name.capitalize(), code), sha1)

    def _put(self, path: str, content: bytes, sha1: str = "") -> None:
        sha1 = sha1 or hashlib.sha1(content, usedforsecurity=False).hexdigest()
        self.served.files[f"/{path}"] = (BYTES, content)
        self.served.files[f"/{path}.sha1"] = (BYTES, sha1.encode())


BETA = "package org.example; public class Beta { public static int value() { return 0; } }"


def jar(name: str, code: str) -> bytes:
    """An archive of the class with this code, which may ask another one, Beta, for its value."""
    with tempfile.TemporaryDirectory() as folder:
        for one, text in {"Beta": BETA, name: code}.items():
            Path(folder, f"{one}.java").write_text(text)
        compiling = ["javac", *{f"{folder}/Beta.java", f"{folder}/{name}.java"}]
        subprocess.run(compiling, check=True)
        content = Path(folder, f"{name}.class").read_bytes()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(f"org/example/{name}.class", content)
    return packed.getvalue()
