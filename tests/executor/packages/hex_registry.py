"""A registry of Hex's kind with packages that a test makes; its answers are not signed."""

from __future__ import annotations

import gzip
import hashlib

from tests.executor.packages.other_registries import packed
from tests.executor.packages.served import BYTES, Served

MIX = """\
defmodule {module}.MixProject do
  use Mix.Project
  {first}
  def project, do: [app: :{name}, version: "1.0.0", deps: [{needs}]]
end
"""
METADATA = """\
{{<<"name">>,<<"{name}">>}}.
{{<<"version">>,<<"1.0.0">>}}.
{{<<"app">>,<<"{name}">>}}.
{{<<"build_tools">>,[<<"mix">>]}}.
{{<<"requirements">>,[]}}.
"""


class Hexes:
    """A registry; a package has one module."""

    def __init__(self, served: Served) -> None:
        self.served = served

    def add(self, name: str, code: str, *, requires: str = "", first: str = "", at: str = ""):
        """A release 1.0.0. Its mix.exs begins with `first`; `at` is one more file's name."""
        needs = f'{{:{requires}, "~> 1.0"}}' if requires else ""
        files = {
            "mix.exs": MIX.format(
                name=name, module=name.capitalize(), needs=needs, first=first
            ).encode(),
            f"lib/{name}.ex": code.encode(),
        }
        if at:
            files[at] = b"1"
        contents = gzip.compress(packed(files))
        metadata = METADATA.format(name=name).encode()
        inner = hashlib.sha256(b"3" + metadata + contents).digest()
        tarball = packed(
            {
                "VERSION": b"3",
                "CHECKSUM": inner.hex().upper().encode(),
                "metadata.config": metadata,
                "contents.tar.gz": contents,
            }
        )
        need = _field(1, requires.encode()) + _field(2, b"~> 1.0")
        release = _field(1, b"1.0.0") + _field(2, inner)
        release += _field(3, need) if requires else b""
        release += _field(5, hashlib.sha256(tarball).digest())
        package = _field(1, release) + _field(2, name.encode()) + _field(3, b"hexpm")
        self.served.files[f"/packages/{name}"] = (BYTES, gzip.compress(_field(1, package)))
        self.served.files[f"/tarballs/{name}-1.0.0.tar"] = (BYTES, tarball)


def _field(number: int, content: bytes) -> bytes:
    """A field of a protocol buffer that is text, bytes or a message."""
    length, size = bytearray(), len(content)
    while size >= 128:
        length.append(size & 127 | 128)
        size >>= 7
    return bytes([number << 3 | 2, *length, size]) + content
