"""C, whole or as bare statements completed into a main function."""

from __future__ import annotations

import re
from collections.abc import Callable

from runtimes import toplevel
from runtimes.languages import read_file
from runtimes.model import CompileInputs, FileBinding, Language, ProgramText, Toolchain

_BIND = ("-include", "{job}/file_content.h", "-x", "c", "{job}/file_content.c")
_MAIN = re.compile(r"\bmain\s*\(")
_PREAMBLE = re.compile(
    r"\s*(?:#(?:[^\n\\]|\\.)*(?:\n|\Z)|using\s+[^;{}()]*;|typedef\s+[^;{}()]*;)", re.DOTALL
)


def wrap_with(headers: str) -> Callable[[str], ProgramText]:
    """Return a wrapper for code without a main function: its preprocessor lines and `using` clauses
    stay above, its statements go into one, and the given standard headers come first."""

    def wrap(code: str) -> ProgramText:
        blanked = toplevel.blank(code, toplevel.C)
        if _MAIN.search(blanked):
            return ProgramText(code)
        end = toplevel.after_leading(blanked, _PREAMBLE)
        line = code.count("\n", 0, end) + 1
        opening = f"int main(int argc, char **argv) {{\n#line {line}\n"
        text = f"{headers}#line 1\n{code[:end]}\n{opening}{code[end:]}\nreturn 0; }}\n"
        return ProgramText(text, wrapped=True)

    return wrap


def include_all(*names: str) -> str:
    """Return the lines that include these headers."""
    return "".join(f"#include <{name}>\n" for name in names)


# Names in the standards of C, C++ and POSIX, and glibc's own: none of them holds the time.
_KNOWN = frozenset(f"{name}.h" for name in read_file("c/headers.txt").split()).union(
    read_file("cpp/headers.txt").split()
)
# The time, or text that may become it: pasting, also by a macro of a header, a half of its name
# that could be pasted, other spellings of `#` and of characters. Then other files: includes of
# anything but known headers, tests for a header, text that only pragmas or an assembler read.
INPUTS = CompileInputs(
    r"__DATE__|__TIME|##|%:|\?\?[=/]|\\u00|\\U0000|\\[uN]\{|(?i:CONCAT)"
    r"|\b__[DT][ATEIMSP_]{1,9}\b|\b[_DATEIMSP]{2,10}__\b"
    r"|#\s*include(?!\s*<\w)|#\s*(?:include_next|import|embed)"
    r"|(?m:^\s*(?:export\s+)?import\b)"
    r"|__has_|(?<!\w)\.inc(?:bin|lude)|\b(?:__)?asm(?:__)?\b|dependency|\bpch_",
    joins=r"\\[ \t\v\f]*\r?\n",
    blanks=r"/\*.*?\*/",
    names=r"#\s*include\s*<([^>\n]*)",
    known=_KNOWN,
)

_GCC = Toolchain(
    name="gcc",
    executables={"cc": ("gcc", "cc")},
    compile=(
        *("{cc}", "-O1", "-pipe", "-pthread", "-o", "{out}", "{bind}"),
        *("-x", "c", "{source}", "-lm"),
    ),
    run=("{out}", "{args}"),
    bind=_BIND,
    inputs=INPUTS,
)
_CLANG = Toolchain(
    name="clang",
    executables={"cc": ("clang",)},
    compile=_GCC.compile,
    run=_GCC.run,
    bind=_GCC.bind,
    inputs=INPUTS,
)

ROW = Language(
    name="c",
    title="C",
    aliases=("c99", "c11", "c17"),
    extensions=(".c",),
    interpreters=("tcc",),
    source_name="main.c",
    grammar="c",
    order=14,
    toolchains=(_GCC, _CLANG),
    wrap=wrap_with(
        "#define _GNU_SOURCE\n"
        + include_all(
            "stdio.h", "stdlib.h", "string.h", "stdint.h", "stdbool.h", "ctype.h", "math.h"
        )
    ),
    hello_output="hello from c\n",
    # The header includes nothing, so that the program's own feature macros count. Each byte that is
    # not valid UTF-8 becomes U+FFFD, three bytes.
    binding=FileBinding({"file_content.h": "c/bind.h", "file_content.c": "c/bind.c"}),
)
