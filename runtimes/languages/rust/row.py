"""Rust: rustc alone, on whole programs and on bare statements completed into a main function."""

from __future__ import annotations

import json
import re

from runtimes import toplevel
from runtimes.model import CompileInputs, FileBinding, Language, ProgramText, Toolchain

_MAIN = re.compile(r"\bfn\s+main\s*\(")
_INNER_ATTRIBUTE = re.compile(r"\s*#!\s*\[[^\]]*\]")
_OPENING = "fn main() { "
_NAMES = (
    "let file_content_path: &'static str = FILE_CONTENT_PATH.get(); "
    "let file_content: &'static str = FILE_CONTENT.get(); "
)
# A static cannot be shadowed by a pattern, so a program that binds the name itself uses its own.
_BOUND_BY_PROGRAM = r"\b(?:let|mut|for|ref)\s+{0}\b|\b{0}\s*:(?!:)|\|[^|\n]{{0,200}}\b{0}\b"


def wrap(code: str) -> ProgramText:
    """Put statements without a main function into one, after the crate's own attributes."""
    blanked = toplevel.blank(code, toplevel.RUST)
    if _MAIN.search(blanked):
        return ProgramText(code)
    end = toplevel.after_leading(blanked, _INNER_ATTRIBUTE)
    return ProgramText(f"{code[:end]}{_OPENING}{code[end:]}\n}}\n", wrapped=True)


def bind(source: ProgramText) -> ProgramText:
    """Import the names after the last line, as Rust allows items in any order.

    A script is included from its own path, so that its `mod` lines find their files; one with crate
    attributes cannot be, and is copied.
    """
    blanked = toplevel.blank(source.text, toplevel.RUST)
    names = ["FILE_CONTENT", "FILE_CONTENT_PATH"]
    text = source.text
    if source.wrapped:
        text = text.replace(_OPENING, _OPENING + _NAMES, 1)
    else:
        lower = ("file_content", "file_content_path")
        names += [n for n in lower if not re.search(_BOUND_BY_PROGRAM.format(n), blanked)]
    if source.origin and not _INNER_ATTRIBUTE.match(blanked):
        text = f"include!({json.dumps(source.origin, ensure_ascii=False)});"
    imports = f"use file_content_binding::{{{', '.join(names)}}};"
    end = f'\n#[path = "file_content.rs"] mod file_content_binding;\n{imports}\n'
    return source._replace(text=text + end)


_RUSTC = Toolchain(
    name="rustc",
    executables={"rustc": ("rustc",), "cc": ("cc", "gcc", "clang")},
    compile=(
        *("{rustc}", "--edition=2021", "-Copt-level=1", "-Cdebuginfo=0", "-Cstrip=symbols"),
        *("-Clinker={cc}", "--crate-name=main", "-Awarnings", "-o", "{out}", "{source}"),
    ),
    run=("{out}", "{args}"),
    env={"RUST_BACKTRACE": "0"},
    # Macros may be imported under other names; `env` is a module, too.
    inputs=CompileInputs(
        r"\binclude(?:_str|_bytes)?\b|\boption_env\b|\benv\s*!|\benv\s+as\b|\bpath\s*="
        r"|\bmod\s+[\w#$]+\s*;|\bextern\s+crate\b",
        blanks=r"/\*.*?\*/|//[^\n]*",
    ),
)

ROW = Language(
    name="rust",
    title="Rust",
    aliases=("rs",),
    extensions=(".rs",),
    interpreters=(),
    source_name="main.rs",
    grammar="rust",
    order=7,
    toolchains=(_RUSTC,),
    wrap=wrap,
    hello_output="hello from rust\n",
    # A static that reads the file when it is first used, and is then a str wherever one is
    # expected; nothing newer than Rust 1.60 is used.
    binding=FileBinding({"file_content.rs": "rust/bind.rs"}, edit=bind),
)
