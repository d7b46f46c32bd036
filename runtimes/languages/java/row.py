"""Java: javac and java, on whole classes and on bare statements completed into a Main class."""

from __future__ import annotations

import re

from runtimes import toplevel
from runtimes.model import (
    CompileInputs,
    FileBinding,
    Language,
    PrewarmCommand,
    ProgramText,
    Toolchain,
)

_IMPORTS = "".join(
    f"import {package}.*; "
    for package in (
        *("java.io", "java.math", "java.nio.charset", "java.nio.file", "java.time", "java.util"),
        *("java.util.function", "java.util.regex", "java.util.stream"),
    )
)
_PACKAGE = re.compile(r"^[ \t]*package\s+([\w.]+)\s*;", re.MULTILINE)
_IMPORT = re.compile(r"\s*import\s+[^;]*;")
_TYPE = re.compile(r"\b(?:class|interface|enum|record)\s+(\w+)")
_PUBLIC = re.compile(r"\bpublic\b[\w\s]*\Z")
_MAIN = re.compile(r"\bvoid\s+main\s*\(")


def wrap(code: str) -> ProgramText:
    """Complete statements to the body of Main.main, a bare `main` method to the body of Main;
    `import` lines stay above. A public class names the file, as javac demands."""
    blanked = toplevel.blank(code, toplevel.JAVA)
    outside = toplevel.surface(blanked)
    end = toplevel.after_leading(blanked, _IMPORT)
    bare_main = _MAIN.search(outside)
    statements = bare_main or ";" in _PACKAGE.sub("", outside[end:])
    whole = _MAIN.search(blanked) and not bare_main
    if _TYPE.search(outside) and (whole or not statements):
        return ProgramText(code, name=f"{_public_type(outside) or 'Main'}.java")
    head, tail = (
        ("", "}")
        if bare_main
        else ("public static void main(String[] args) throws Exception { ", "}}")
    )
    text = f"{_IMPORTS}{code[:end]} public class Main {{ {head}{code[end:]}\n{tail}\n"
    return ProgramText(text, wrapped=True)


def main_class(source: ProgramText) -> str:
    """Return the qualified name of the class to start: that of `main`, else the first."""
    blanked = toplevel.blank(source.text, toplevel.JAVA)
    package = _PACKAGE.search(blanked)
    main = _MAIN.search(blanked)
    types = list(_TYPE.finditer(toplevel.surface(blanked)))
    before = [found for found in types if main and found.start() < main.start()]
    started = before[-1] if before else next(iter(types), None)
    name = started.group(1) if started else "Main"
    return f"{package.group(1)}.{name}" if package else name


def bind(source: ProgramText) -> ProgramText:
    """Import the names after the package clause, or before all else."""
    package = _PACKAGE.search(toplevel.blank(source.text, toplevel.JAVA))
    at = package.end() if package else 0
    line = "import static file_content_binding.FileContent.*; "
    return source._replace(text=source.text[:at] + line + source.text[at:])


def _public_type(outside: str) -> str | None:
    for found in _TYPE.finditer(outside):
        if _PUBLIC.search(outside, max(0, found.start() - 80), found.start()):
            return found.group(1)
    return None


# Compiling and running once gain nothing from profiles, parallel collection or the second compiler.
_LEAN = ("-J-XX:+UseSerialGC", "-J-XX:TieredStopAtLevel=1", "-J-Xshare:auto")

_JAVAC_ARGUMENTS = (
    *("-proc:none", "-nowarn", "-encoding", "UTF-8", "-d", "{out}"),
    *("{packages}", "-sourcepath", "{source.root}", "{bind}", "{source}"),
)
_JAVA_ARGUMENTS = (
    *("-XX:+UseSerialGC", "-Xshare:auto", "-Dfile.encoding=UTF-8"),
    *("-Dstdout.encoding=UTF-8", "-Dstderr.encoding=UTF-8"),
    *("-cp", "{out}:{cwd}", "{packages}", "{entry}", "{args}"),
)
_AGENT = "-javaagent:{job}/.prewarm/prewarm.jar={job}/.prewarm/gate"

_JDK = Toolchain(
    name="jdk",
    executables={"javac": ("javac",), "java": ("java",)},
    compile=("{javac}", *_LEAN, *_JAVAC_ARGUMENTS),
    run=("{java}", *_JAVA_ARGUMENTS),
    bind=("{job}/FileContent.java",),
    products=("classes",),
    # A class of the project may shadow one that is imported, or be loaded by any name.
    inputs=CompileInputs(beside=("*.java", "*.class"), complete=False),
    reads=("/etc/java-*-openjdk",),
    prewarm=PrewarmCommand(
        "java/Prewarm.java",
        ".prewarm/prewarm.jar",
        compiled=True,
        manifest="Manifest-Version: 1.0\nPremain-Class: ctxmode.prewarm.Prewarm\n",
        beside=("java/Sample.java",),
        run=("{java}", _AGENT, *_JAVA_ARGUMENTS),
        compile=("{javac}", *_LEAN, f"-J{_AGENT},{{job}}/.prewarm/Sample.java", *_JAVAC_ARGUMENTS),
        not_with=("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"),
    ),
    heavy=True,
)

ROW = Language(
    name="java",
    title="Java",
    aliases=("jdk", "openjdk"),
    extensions=(".java",),
    interpreters=("java",),
    source_name="Main.java",
    grammar="java",
    order=13,
    toolchains=(_JDK,),
    wrap=wrap,
    entry=main_class,
    hello_output="hello from java\n",
    # In a separate package, because Java imports nothing from the unnamed one.
    binding=FileBinding({"FileContent.java": "java/bind.java"}, edit=bind),
)
