"""Kotlin: its compiler for the JVM, on files and on bare statements completed into a main function.

`kotlinc` is a script around the archives next to it, which `java` loads faster on its own.
"""

from __future__ import annotations

import re

from runtimes import toplevel
from runtimes.model import CompileInputs, FileBinding, Language, ProgramText, Toolchain

_MAIN = re.compile(r"\bfun\s+main\s*\(")
_HEAD = re.compile(r"\s*(?:#![^\n]*|@file:\s*(?:\[[^\]]*\]|[\w.]+(?:\([^()]*\))?))")
_PACKAGE = re.compile(r"\s*package\s+([\w.`]+)[ \t]*;?")
_IMPORT = re.compile(r"\s*import[ \t]+[\w.`*]+(?:[ \t]+as[ \t]+\w+)?[ \t]*;?")
_JVM_NAME = re.compile(r"@file:\s*JvmName\s*\(\s*\"(\w+)\"")
_NOT_IN_NAMES = re.compile(r"\W", re.ASCII)
_NAMES = " import file_content_binding.*; "


def wrap(code: str) -> ProgramText:
    """Complete statements to the body of `main`; the lines that open a file stay above."""
    blanked = toplevel.blank(code, toplevel.JAVA)
    if _MAIN.search(blanked):
        return ProgramText(code)
    end = (head := _find_head(blanked)) + toplevel.after_leading(blanked[head:], _IMPORT)
    opening = "; " if end else ""
    text = f"{code[:end]}{opening}fun main(args: Array<String>) {{ {code[end:]}\n}}\n"
    return ProgramText(text, wrapped=True)


def bind(source: ProgramText) -> ProgramText:
    """Import the names after the package clause, or before all else."""
    at = _find_head(toplevel.blank(source.text, toplevel.JAVA))
    semicolon = ";" if at and source.text[:at].rstrip()[-1:] != ";" else ""
    return source._replace(text=f"{source.text[:at]}{semicolon}{_NAMES}{source.text[at:]}")


def main_class(source: ProgramText) -> str:
    """Return the qualified name of the class that holds the functions of a file."""
    blanked = toplevel.blank(source.text, toplevel.JAVA)
    at = toplevel.after_leading(blanked, _HEAD)
    named = _JVM_NAME.search(source.text[:at])
    stem = _NOT_IN_NAMES.sub("_", source.name.removesuffix(".kt"))
    own = named.group(1) if named else f"{stem[:1].upper()}{stem[1:]}Kt"
    package = _PACKAGE.match(blanked, at)
    return f"{package.group(1)}.{own}".replace("`", "") if package else own


def _find_head(blanked: str) -> int:
    """Return the offset after the annotations of a file and its package clause."""
    at = toplevel.after_leading(blanked, _HEAD)
    package = _PACKAGE.match(blanked, at)
    return package.end() if package else at


_LEAN = ("-Xmx512M", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
_LIBRARIES = "{kotlinc.folder}/../lib"

_KOTLINC = Toolchain(
    name="kotlinc",
    executables={"kotlinc": ("kotlinc",), "java": ("java",)},
    version=("-version",),
    compile=(
        *("{java}", *_LEAN, "-cp", f"{_LIBRARIES}/kotlin-preloader.jar"),
        *("org.jetbrains.kotlin.preloading.Preloader", "-cp", f"{_LIBRARIES}/kotlin-compiler.jar"),
        *("org.jetbrains.kotlin.cli.jvm.K2JVMCompiler", "-nowarn", "-jvm-target", "1.8"),
        *("-kotlin-home", f"{_LIBRARIES}/..", "-d", "{out}", "{bind}", "{source}"),
    ),
    run=(
        *("{java}", "-XX:+UseSerialGC", "-Xshare:auto", "-Dfile.encoding=UTF-8"),
        *("-Dstdout.encoding=UTF-8", "-Dstderr.encoding=UTF-8"),
        *("-cp", f"{{out}}:{_LIBRARIES}/kotlin-stdlib.jar:{{cwd}}", "{entry}", "{args}"),
    ),
    bind=("{job}/FileContent.kt",),
    products=("classes",),
    # What is compiled may be declared in the project.
    inputs=CompileInputs(beside=("*.kt", "*.java", "*.class", "*.jar"), complete=False),
    reads=("/etc/java-*-openjdk",),
    heavy=True,
)

ROW = Language(
    name="kotlin",
    title="Kotlin",
    aliases=("kt",),
    extensions=(".kt",),
    interpreters=(),
    source_name="main.kt",
    grammar="kotlin",
    order=18,
    toolchains=(_KOTLINC,),
    wrap=wrap,
    entry=main_class,
    hello_output="hello from kotlin\n",
    # In a separate package, as files of the unnamed one are seen only from there.
    binding=FileBinding({"FileContent.kt": "kotlin/bind.kt"}, edit=bind),
)
