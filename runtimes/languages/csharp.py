"""C#: the .NET SDK on single files, dotnet-script, and Mono's compiler, which knows C# 7."""

from __future__ import annotations

import re
from dataclasses import replace

from runtimes import lexing
from runtimes.model import FileBinding, Language, Packages, Source, Toolchain

_CLASS = (
    "static class FileContentBinding { "
    "public static readonly string FILE_CONTENT_PATH = "
    'System.Environment.GetEnvironmentVariable("FILE_CONTENT_PATH"); '
    "public static readonly string FILE_CONTENT = "
    "new System.Text.UTF8Encoding(false).GetString(System.IO.File.ReadAllBytes(FILE_CONTENT_PATH));"
    " }"
)
_USING = re.compile(r"\s*using\s+(?:static\s+)?[\w.]+(?:\s*=\s*[\w.<>,\s]+)?\s*;")
_DIRECTIVE = re.compile(r"\s*#[:!][^\n]*(?:\n|\Z)")
_TYPE = re.compile(
    r"(?:\b(?:public|internal|static|sealed|abstract|partial|readonly)\s+){0,6}"
    r"\b(?:class|struct|interface|enum|namespace)\s+\w"
)
# What opens a block that is a function of its own: a lambda's arrow, or a name with parameters.
_FUNCTION = re.compile(r"=>\s*\Z|[\w>\]?]\s+(\w+)\s*\([^()]*\)\s*\Z|\bdelegate\b[^{};]*\Z")
_BRANCHES = frozenset({"if", "for", "foreach", "while", "switch", "using", "lock", "catch"})
_AWAIT = re.compile(r"\bawait\b")
_RETURN_VALUE = re.compile(r"\breturn\s+[^;\s]")
_IMPLICIT_USINGS = "".join(
    f"using {name}; "
    for name in (
        *("System", "System.Collections.Generic", "System.IO", "System.Linq", "System.Text"),
        *("System.Text.RegularExpressions", "System.Threading", "System.Threading.Tasks"),
    )
)


def wrap_for_mono(code: str) -> Source:
    """Mono's compiler has neither top-level statements nor implicit usings: statements become the
    body of Main, up to the first type, and the usings of a .NET console project come first."""
    script = re.sub(r"\A#!", "//", code)
    blanked = lexing.blank(script, lexing.CSHARP)
    end = lexing.after_leading(blanked, _USING)
    first = _TYPE.search(lexing.surface(blanked), end)
    first_type = first.start() if first else len(script)
    statements = blanked[end:first_type]
    if not statements.strip():
        return Source(_IMPLICIT_USINGS + script)
    returns = _RETURN_VALUE.search(lexing.surface(statements, _opens_function))
    result = "int" if returns else "void"
    if _AWAIT.search(statements):
        result = "async Task<int>" if returns else "async Task"
    opening = f" static class Program {{ static {result} Main(string[] args) {{ "
    body = f"{script[end:first_type]}\n#line hidden\n}} }}\n"
    rest_line = script.count("\n", 0, first_type) + 1
    rest = f"#line {rest_line}\n{script[first_type:]}\n" if first else ""
    return Source(f"{_IMPLICIT_USINGS}{script[:end]}{opening}{body}{rest}", wrapped=True)


def _opens_function(before: str) -> bool:
    if not before.rstrip().endswith((")", "=>", "delegate")):
        return False
    found = _FUNCTION.search(before)
    return found is not None and found.group(1) not in _BRANCHES


def bind(source: Source) -> Source:
    """`using static` goes behind the file's own directives, the class that it names to the end."""
    at = lexing.after_leading(source.text, _DIRECTIVE)
    line = "using static FileContentBinding; "
    text = f"{source.text[:at]}{line}{source.text[at:]}\n{_CLASS}\n"
    return replace(source, text=text)


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
_MONO = Toolchain(
    name="mono",
    executables={"mcs": ("mcs",), "mono": ("mono",)},
    compile=(
        *("{mcs}", "-debug", "-warn:0", "-optimize+", "-codepage:utf8", "-langversion:latest"),
        *("-r:System.Core.dll", "-r:System.Numerics.dll", "-out:{out}", "{source}"),
    ),
    run=("{mono}", "--debug", "{out}", "{args}"),
    env={"MONO_REGISTRY_PATH": "{scratch}/.mono"},
    reads=("/etc/mono",),
    rank=2,
    products=("program.exe", "program.exe.mdb"),
    wrap=wrap_for_mono,
)

CSHARP = Language(
    name="csharp",
    title="C#",
    aliases=("cs", "c#", "dotnet"),
    extensions=(".cs", ".csx"),
    interpreters=("dotnet-script",),
    source_name="main.cs",
    grammar="csharp",
    toolchains=(_DOTNET, _DOTNET_SCRIPT, _MONO),
    hello='var word = "c#";\nConsole.WriteLine("hello from " + word);\n',
    hello_output="hello from c#\n",
    binding=FileBinding({}, edit=bind),
    packages=Packages(
        debian=("mono-mcs", "mono-runtime"),
        fedora=("dotnet-sdk-10.0",),
        arch=("dotnet-sdk",),
        brew=("dotnet",),
        windows=("Microsoft.DotNet.SDK.10",),
    ),
)
