"""Go: whole files, and bare declarations or statements completed into a main package."""

from __future__ import annotations

import re

from runtimes import toplevel
from runtimes.languages import read_file
from runtimes.model import (
    CompileInputs,
    FileBinding,
    HomeLibrary,
    Language,
    ProgramText,
    Toolchain,
)

# Newer than the promised minimum, so not worth failing for when caches are filled.
_RECENT = ("cmp", "maps", "slices")
_WARM_UP = read_file("go/warm_up.go")
# Names that a snippet may use without importing: name in the text -> import path.
STANDARD = {
    path.rpartition("/")[2]: path for path in sorted((*re.findall(r'_ "(.+)"', _WARM_UP), *_RECENT))
}

_PACKAGE = re.compile(r"^[ \t]*package\s+\w+", re.MULTILINE)
_MAIN = re.compile(r"^[ \t]*func\s+main\s*\(", re.MULTILINE)
_QUALIFIED = re.compile(r"(?<![\w.])([a-z]\w*)\.[A-Z]")
_IMPORT = re.compile(r"\s*import[ \t]+(?:\([^)]*\)|[\w.]*[ \t]*(?=\n|;|\Z));?")


def wrap(code: str) -> ProgramText:
    """Complete code without a package clause: it gets one, the imports it uses but does not name,
    and, unless it declares one, a main function around its statements. No line is added."""
    blanked = toplevel.blank(code, toplevel.GO)
    if _PACKAGE.search(blanked):
        return ProgramText(code)
    end = toplevel.after_leading(blanked, _IMPORT)
    imports = "".join(
        f'import "{path}"; ' for path in _find_unnamed_imports(code[:end], blanked[end:])
    )
    head = f"package main; {imports}"
    if _MAIN.search(blanked):
        return ProgramText(head + code, wrapped=True)
    separator = ";" if end else ""
    return ProgramText(
        f"{head}{code[:end]}{separator} func main() {{ {code[end:]}\n}}\n", wrapped=True
    )


def _find_unnamed_imports(named: str, body: str) -> list[str]:
    """Find standard packages that a blanked body uses, neither imported nor a variable's name."""
    used = {name for name in _QUALIFIED.findall(body) if name in STANDARD}
    return sorted(
        STANDARD[name]
        for name in used
        if f'{STANDARD[name]}"' not in named
        and not re.search(
            rf"\b{name}\b(?:\s{{0,4}},\s{{0,4}}\w+){{0,8}}\s*:=|\bvar\s+{name}\b", body
        )
    )


_GO = Toolchain(
    name="go",
    version=("version",),
    executables={"go": ("go",)},
    # Without the symbol tables linking takes two thirds of the time; traces keep their lines.
    compile=("{go}", "build", "-ldflags=-s -w", "-o", "{out}", "{source}", "{bind}"),
    run=("{out}", "{args}"),
    bind=("{job}/file_content.go",),
    env={
        # Since 1.20 Go ships no compiled standard library: the first build of a package takes
        # seconds, and a cache of them, even a read-only one, hundredths of that.
        "GOCACHE": "{scratch}/.go-build",
        "GOPATH": "{scratch}/.go",
        # No stamp of the repository's state, no fetching of modules or other versions of Go.
        "GOFLAGS": "-buildvcs=false",
        "GOPROXY": "off",
        "GOTOOLCHAIN": "local",
        "GOTELEMETRY": "off",
        "CGO_ENABLED": "0",
        # Its index of packages is written into the cache. If that fails, as in a read-only one,
        # every package that is not in it yet is reported missing.
        "GODEBUG": "goindex=0",
    },
    # A module's go.mod chooses the language version and the packages.
    inputs=CompileInputs(
        r"//go:embed|\"C\"|`C`",
        blanks=r"/\*.*?\*/",
        beside=("go.mod", "go.work"),
    ),
    caches=(".go-build",),
)

ROW = Language(
    name="go",
    title="Go",
    aliases=("golang",),
    extensions=(".go",),
    interpreters=(),
    source_name="main.go",
    grammar="go",
    order=6,
    toolchains=(_GO,),
    wrap=wrap,
    hello_output="hello from go\n",
    warm_up=_WARM_UP,
    # Go reads the files of one package from one folder only, hence the copy next to the binding.
    # Package-level variables are initialised before any init function and before main.
    binding=FileBinding({"file_content.go": "go/bind.go"}, edit=lambda source: source),
    libraries=(HomeLibrary("go/pkg/mod", "GOMODCACHE"),),
)
