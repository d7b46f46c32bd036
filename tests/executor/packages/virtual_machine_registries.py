"""Registries of Java's and C#'s kinds with packages that a test makes."""

from __future__ import annotations

import base64
import hashlib
import io
import subprocess
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

from tests.executor.packages.served import BYTES, Served
from tests.needs import need

XML = "application/xml"

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
        need("javac")
        compiling = ["javac", *{f"{folder}/Beta.java", f"{folder}/{name}.java"}]
        subprocess.run(compiling, check=True)
        content = Path(folder, f"{name}.class").read_bytes()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(f"org/example/{name}.class", content)
    return packed.getvalue()


NUSPEC = """\
<?xml version="1.0"?>
<package xmlns="http://schemas.microsoft.com/packaging/2010/07/nuspec.xsd"><metadata>
  <id>{name}</id><version>1.0.0</version><authors>t</authors><description>d</description>{needs}
</metadata></package>
"""
NUSPEC_NEEDS = '<dependencies><dependency id="{name}" version="1.0.0"/></dependencies>'
KINDS = """\
<?xml version="1.0"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
  <Default Extension="nuspec" ContentType="application/octet"/>
  <Default Extension="dll" ContentType="application/octet"/>
  <Default Extension="ps1" ContentType="application/octet"/>
  <Default Extension="rels"
    ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
</Types>
"""
RELATIONS = """\
<?xml version="1.0"?>
<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">
  <Relationship Type="http://schemas.microsoft.com/packaging/2010/07/manifest"
    Target="/{name}.nuspec" Id="R1"/>
</Relationships>
"""
SERVICE = '<?xml version="1.0"?><service xmlns="http://www.w3.org/2007/app"/>'
FUNCTIONS = """\
<?xml version="1.0"?>
<edmx:Edmx Version="1.0" xmlns:edmx="http://schemas.microsoft.com/ado/2007/06/edmx">
  <edmx:DataServices m:DataServiceVersion="2.0"
    xmlns:m="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata">
    <Schema Namespace="N" xmlns="http://schemas.microsoft.com/ado/2006/04/edm">
      <EntityContainer Name="F" m:IsDefaultEntityContainer="true"/>
    </Schema>
  </edmx:DataServices>
</edmx:Edmx>
"""
FEED = """\
<?xml version="1.0"?>
<feed xml:base="{url}/" xmlns="http://www.w3.org/2005/Atom">
  <title type="text">Packages</title><id>{url}</id><updated>2020-01-01T00:00:00Z</updated>
  {entries}
</feed>
"""
ENTRY = """\
<entry xmlns="http://www.w3.org/2005/Atom"
    xmlns:d="http://schemas.microsoft.com/ado/2007/08/dataservices"
    xmlns:m="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata">
  <id>{url}/Packages(Id='{name}',Version='1.0.0')</id><title type="text">{name}</title>
  <updated>2020-01-01T00:00:00Z</updated><author><name>t</name></author>
  <content type="application/zip" src="{url}/package/{name}/1.0.0"/>
  <m:properties>
    <d:Id>{name}</d:Id><d:Version>1.0.0</d:Version><d:Dependencies>{needs}</d:Dependencies>
    <d:IsLatestVersion m:type="Edm.Boolean">true</d:IsLatestVersion>
    <d:IsAbsoluteLatestVersion m:type="Edm.Boolean">true</d:IsAbsoluteLatestVersion>
    <d:Listed m:type="Edm.Boolean">true</d:Listed>
    <d:PackageHash>{digest}</d:PackageHash><d:PackageHashAlgorithm>SHA512</d:PackageHashAlgorithm>
    <d:PackageSize m:type="Edm.Int64">{size}</d:PackageSize>
    <d:Published m:type="Edm.DateTime">2020-01-01T00:00:00Z</d:Published>
  </m:properties>
</entry>
"""


class Assemblies:
    """A registry of NuGet's second protocol; a package has one assembly, in C#."""

    def __init__(self, served: Served) -> None:
        self.served = served
        served.files["/"] = (XML, SERVICE.encode())
        served.files["/$metadata"] = (XML, FUNCTIONS.encode())
        for name in ("alpha", "beta"):
            self._list(name, "")

    def add(
        self,
        name: str,
        code: str,
        *,
        requires: str = "",
        framework: str = "net45",
        more: Mapping[str, bytes] | None = None,
    ) -> None:
        """A release 1.0.0 whose assembly is of this code, compiled beside Beta's."""
        needs = NUSPEC_NEEDS.format(name=requires) if requires else ""
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr(f"{name}.nuspec", NUSPEC.format(name=name, needs=needs))
            archive.writestr("[Content_Types].xml", KINDS)
            archive.writestr("_rels/.rels", RELATIONS.format(name=name))
            archive.writestr(f"lib/{framework}/{name}.dll", assembly(name, code))
            for path, content in (more or {}).items():
                archive.writestr(path, content)
        content = packed.getvalue()
        self.served.files[f"/package/{name}/1.0.0"] = (BYTES, content)
        entry = ENTRY.format(
            url=self.served.url,
            name=name,
            needs=f"{requires}:1.0.0" if requires else "",
            digest=base64.b64encode(hashlib.sha512(content).digest()).decode(),
            size=len(content),
        )
        page = f'<?xml version="1.0"?>\n{entry}'.encode()
        self.served.files[f"/Packages(Id='{name}',Version='1.0.0')"] = (XML, page)
        self._list(name, entry)

    def _list(self, name: str, entries: str) -> None:
        feed = FEED.format(url=self.served.url, entries=entries).encode()
        for asked in (
            f"FindPackagesById()?$filter=IsLatestVersion&$orderby=Version desc&$top=1&id='{name}'",
            f"FindPackagesById()?$orderby=Version desc&$top=1&id='{name}'",
            f"Packages()?$filter=tolower(Id) eq '{name}'&$orderby=Id",
        ):
            self.served.files[f"/{asked}"] = (XML, feed)


STUB = "public static class Beta { public static int Value() { return 0; } }"


def assembly(name: str, code: str) -> bytes:
    """A library of this code, which may ask another one, Beta, for its value."""
    with tempfile.TemporaryDirectory() as folder:
        for one, text in {"beta": STUB, name: code}.items():
            Path(folder, f"{one}.cs").write_text(text)
            beside = () if one == "beta" else (f"-r:{folder}/beta.dll",)
            need("mcs")
            made = ["mcs", "-target:library", f"-out:{folder}/{one}.dll", *beside]
            subprocess.run([*made, f"{folder}/{one}.cs"], check=True)
        return Path(folder, f"{name}.dll").read_bytes()
