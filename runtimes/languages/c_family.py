"""C and C++, whole or as bare statements completed into a main function."""

from __future__ import annotations

import re
from collections.abc import Callable

from runtimes import toplevel
from runtimes.languages import read_binding
from runtimes.model import CompileInputs, FileBinding, Language, Packages, ProgramText, Toolchain

# Each byte that is not valid UTF-8 becomes U+FFFD, three bytes.
_VALID_LENGTH = read_binding("valid_length.c")

# It declares without including anything, so that the program's own feature macros count.
_HEADER = """\
extern const char *FILE_CONTENT;
extern const char *FILE_CONTENT_PATH;
extern unsigned long FILE_CONTENT_LENGTH;
"""

_READER = read_binding("file_content.c").replace("@VALID_LENGTH@", _VALID_LENGTH)

# In C++ all of it is in the header: a separate C file would be compiled by the standard of C++, of
# which g++ warns, and which clang++ refuses.
_HEADER_OF_CPP = read_binding("file_content.hpp").replace("@VALID_LENGTH@", _VALID_LENGTH)

_BINDING = FileBinding({"file_content.h": _HEADER, "file_content.c": _READER})
_BIND = ("-include", "{job}/file_content.h", "-x", "c", "{job}/file_content.c")
_BINDING_OF_CPP = FileBinding({"file_content.h": _HEADER_OF_CPP})
_BIND_OF_CPP = ("-include", "{job}/file_content.h")

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


def _includes(*names: str) -> str:
    return "".join(f"#include <{name}>\n" for name in names)


# Names in the standards of C, C++ and POSIX, and glibc's own: none of them holds the time.
_HEADERS = read_binding("c_headers.txt")
_HEADERS_OF_CPP = read_binding("cpp_headers.txt")
_KNOWN = frozenset(f"{name}.h" for name in _HEADERS.split()).union(_HEADERS_OF_CPP.split())
# The time, or text that may become it: pasting, also by a macro of a header, a half of its name
# that could be pasted, other spellings of `#` and of characters. Then other files: includes of
# anything but known headers, tests for a header, text that only pragmas or an assembler read.
_INPUTS = CompileInputs(
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
    inputs=_INPUTS,
)
_CLANG = Toolchain(
    name="clang",
    executables={"cc": ("clang",)},
    compile=_GCC.compile,
    run=_GCC.run,
    bind=_GCC.bind,
    inputs=_INPUTS,
)

C = Language(
    name="c",
    title="C",
    aliases=("c99", "c11", "c17"),
    extensions=(".c",),
    interpreters=("tcc",),
    source_name="main.c",
    grammar="c",
    toolchains=(_GCC, _CLANG),
    wrap=wrap_with(
        "#define _GNU_SOURCE\n"
        + _includes("stdio.h", "stdlib.h", "string.h", "stdint.h", "stdbool.h", "ctype.h", "math.h")
    ),
    hello='const char *word = "c";\nprintf("hello from %s\\n", word);\n',
    hello_output="hello from c\n",
    binding=_BINDING,
    packages=Packages(
        debian=("gcc", "libc6-dev"),
        fedora=("gcc",),
        arch=("gcc",),
        brew=("gcc",),
        windows=("LLVM.LLVM",),
    ),
)

_GPP = Toolchain(
    name="g++",
    executables={"cxx": ("g++", "c++")},
    compile=(
        *("{cxx}", "-std=gnu++20", "-O1", "-pipe", "-pthread", "-o", "{out}", "{bind}"),
        *("-x", "c++", "{source}"),
    ),
    run=("{out}", "{args}"),
    bind=_BIND_OF_CPP,
    inputs=_INPUTS,
)
_CLANGPP = Toolchain(
    name="clang++",
    executables={"cxx": ("clang++",)},
    compile=_GPP.compile,
    run=_GPP.run,
    bind=_GPP.bind,
    inputs=_INPUTS,
)

CPP = Language(
    name="cpp",
    title="C++",
    aliases=("c++", "cxx", "cplusplus"),
    extensions=(".cpp", ".cc", ".cxx", ".c++"),
    interpreters=(),
    source_name="main.cpp",
    grammar="cpp",
    toolchains=(_GPP, _CLANGPP),
    wrap=wrap_with(
        _includes("algorithm", "cstdint", "fstream", "iostream", "map", "set", "sstream", "string")
        + _includes("unordered_map", "vector")
        + "using namespace std;\n"
    ),
    hello='std::string word = "c++";\nstd::cout << "hello from " << word << std::endl;\n',
    hello_output="hello from c++\n",
    binding=_BINDING_OF_CPP,
    packages=Packages(
        debian=("g++", "libc6-dev"),
        fedora=("gcc-c++",),
        arch=("gcc",),
        brew=("gcc",),
        windows=("LLVM.LLVM",),
    ),
)
