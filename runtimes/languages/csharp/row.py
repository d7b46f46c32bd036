"""C#: the .NET SDK on single files, dotnet-script, and Mono's compiler, which knows C# 7."""

from __future__ import annotations

import re

from runtimes import toplevel
from runtimes.languages import read_file
from runtimes.model import (
    CompileInputs,
    FileBinding,
    Language,
    PrewarmCommand,
    ProgramText,
    Toolchain,
)

_USING = re.compile(r"\s*using\s+(?:static\s+)?[\w.]+(?:\s*=\s*[\w.<>,\s]+)?\s*;")
_DIRECTIVE = re.compile(r"\s*#[:!][^\n]*(?:\n|\Z)")
_TYPE = re.compile(
    r"(?:\b(?:public|internal|static|sealed|abstract|partial|readonly)\s+){0,6}"
    r"\b(?:class|struct|interface|enum|namespace)\s+\w"
)
# The beginning of a block that is a separate function: a lambda's arrow, or a name with parameters.
_FUNCTION = re.compile(r"=>\s*\Z|[\w>\]?]\s+(\w+)\s*\([^()]*\)\s*\Z|\bdelegate\b[^{};]*\Z")
_BRANCHES = frozenset({"if", "for", "foreach", "while", "switch", "using", "lock", "catch"})
_LOCAL_FUNCTION = re.compile(
    r"(?:\A|(?<=[;}]))\s*"
    r"(?P<function>(?:(?:static|async)\s+){0,2}(?P<type>\w[\w.?\[\]]*(?:<[^;(){}]*>)?[?\[\]]*)\s+\w+\s*"
    r"(?:<[\w\s,]*>)?\s*\([^()]*\)\s*(?:\{\s*\}|=>[^;]*;))"
)
_STATEMENTS = frozenset({"else", "return", "new", "await", "throw", "case", "in", "do", "yield"})
_NOT_A_LINE_BREAK = re.compile(r"[^\n]")
_AWAIT = re.compile(r"\bawait\b")
_RETURN_VALUE = re.compile(r"\breturn\s+[^;\s]")
_IMPLICIT_USINGS = "".join(
    f"using {name}; "
    for name in (
        *("System", "System.Collections.Generic", "System.IO", "System.Linq", "System.Text"),
        *("System.Text.RegularExpressions", "System.Threading", "System.Threading.Tasks"),
    )
)


def wrap_for_mono(code: str) -> ProgramText:
    """Wrap code for Mono's compiler, which has neither top-level statements, local functions nor
    implicit usings: statements become the body of Main, functions among them its siblings. Text
    from the first type on stays below; the usings of a .NET console project come first."""
    script = re.sub(r"\A#!", "//", code)
    blanked = toplevel.blank(script, toplevel.CSHARP)
    start = toplevel.after_leading(blanked, _USING)
    first_type = _TYPE.search(toplevel.surface(blanked), start)
    end = first_type.start() if first_type else len(script)
    if not blanked[start:end].strip():
        return ProgramText(_IMPLICIT_USINGS + script)
    functions = _functions(blanked, start, end)
    statements, members, at = "", "", start
    for first, last in functions:
        statements += script[at:first] + _NOT_A_LINE_BREAK.sub(" ", script[first:last])
        function = re.sub(r"\Astatic\b", "", script[first:last])
        members += f"{_line(script, first)}static {function}\n"
        at = last
    statements += script[at:end]
    text = (
        f"{_IMPLICIT_USINGS}{script[:start]} static class Program {{ "
        f"{_main(blanked, functions, (start, end))}{statements}\n#line hidden\n}}\n{members}}}\n"
    )
    return ProgramText(text + _line(script, end) + script[end:] + "\n", wrapped=True)


def _functions(blanked: str, start: int, end: int) -> list[tuple[int, int]]:
    """Find where the functions among top-level statements begin and end."""
    outside = toplevel.surface(blanked[start:end])
    found = (f for f in _LOCAL_FUNCTION.finditer(outside) if f.group("type") not in _STATEMENTS)
    return [(start + f.start("function"), start + f.end()) for f in found]


def _main(blanked: str, functions: list[tuple[int, int]], span: tuple[int, int]) -> str:
    """Return the opening of Main: the statements show its result type, and whether it awaits."""
    bounds = [span[0], *(offset for function in functions for offset in function), span[1]]
    statements = "".join(blanked[a:b] for a, b in zip(bounds[::2], bounds[1::2], strict=True))
    returns = _RETURN_VALUE.search(toplevel.surface(statements, _opens_function))
    result = "int" if returns else "void"
    if not _AWAIT.search(statements):
        return f"static {result} Main(string[] args) {{ "
    task, give = ("Task<int>", "return ") if returns else ("Task", "")
    return (
        f"static {result} Main(string[] args) {{ {give}Run(args).GetAwaiter().GetResult(); }} "
        f"static async {task} Run(string[] args) {{ "
    )


def _line(script: str, offset: int) -> str:
    """Return a directive by which the next line is the one at an offset of the script."""
    return f'#line {script.count(chr(10), 0, offset) + 1} "main.cs"\n'


def _opens_function(before: str) -> bool:
    if not before.rstrip().endswith((")", "=>", "delegate")):
        return False
    found = _FUNCTION.search(before)
    return found is not None and found.group(1) not in _BRANCHES


def bind(source: ProgramText) -> ProgramText:
    """Put `using static` after the file's own directives, and its class at the end."""
    at = toplevel.after_leading(source.text, _DIRECTIVE)
    line = "using static FileContentBinding; "
    text = f"{source.text[:at]}{line}{source.text[at:]}\n{read_file('csharp/bind.cs')}"
    return source._replace(text=text)


_DOTNET_ENV = {
    "DOTNET_CLI_TELEMETRY_OPTOUT": "1",
    "DOTNET_NOLOGO": "1",
    "DOTNET_SKIP_FIRST_TIME_EXPERIENCE": "1",
    "DOTNET_GENERATE_ASPNET_CERTIFICATE": "false",
    "DOTNET_CLI_HOME": "{scratch}/.dotnet",
    "NUGET_PACKAGES": "{scratch}/.nuget",
    "DOTNET_gcServer": "0",
}

_DOTNET = Toolchain(
    name="dotnet",
    executables={"dotnet": ("dotnet",)},
    run=("{dotnet}", "run", "{source}", "--", "{args}"),
    env=_DOTNET_ENV,
    reads=("/etc/dotnet",),
)
_DOTNET_SCRIPT = Toolchain(
    name="dotnet-script",
    executables={"script": ("dotnet-script",), "dotnet": ("dotnet",)},
    run=("{script}", "{source}", "--", "{args}"),
    env=_DOTNET_ENV,
    source_name="main.csx",
    reads=("/etc/dotnet",),
)
_MCS_ARGUMENTS = (
    *("-debug", "-warn:0", "-optimize+", "-codepage:utf8", "-langversion:latest"),
    *("-r:System.Core.dll", "-r:System.Numerics.dll", "-out:{out}", "{packages}", "{source}"),
)
_MONO = Toolchain(
    name="mono",
    executables={"mcs": ("mcs",), "mono": ("mono",)},
    compile=("{mcs}", *_MCS_ARGUMENTS),
    run=("{mono}", "--debug", "{out}", "{args}"),
    env={"MONO_REGISTRY_PATH": "{scratch}/.mono"},
    reads=("/etc/mono",),
    rank=2,
    products=("program.exe", "program.exe.mdb"),
    # A version with a star holds the time. References are looked up in the working folder first.
    inputs=CompileInputs(r"Assembly\w*Version|\\[uU]0", beside=("*.dll", "*.rsp")),
    wrap=wrap_for_mono,
    # Only the compiler: files that Mono opens before a program can't be hidden from it.
    prewarm=PrewarmCommand(
        "csharp/Prewarm.cs",
        ".prewarm/prewarm.exe",
        compiled=True,
        beside=("csharp/Sample.cs",),
        compile=(
            *(
                "{mono}",
                "{job}/.prewarm/prewarm.exe",
                "{job}/.prewarm/gate",
                "{job}/.prewarm/Sample.cs",
            ),
            *_MCS_ARGUMENTS,
        ),
    ),
)

ROW = Language(
    name="csharp",
    title="C#",
    aliases=("cs", "c#", "dotnet"),
    extensions=(".cs", ".csx"),
    interpreters=("dotnet-script",),
    source_name="main.cs",
    grammar="csharp",
    order=12,
    toolchains=(_DOTNET, _DOTNET_SCRIPT, _MONO),
    hello_output="hello from c#\n",
    binding=FileBinding({}, edit=bind),
)
