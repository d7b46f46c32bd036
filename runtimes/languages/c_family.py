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

_READER = f"""\
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *FILE_CONTENT = "";
const char *FILE_CONTENT_PATH = "";
unsigned long FILE_CONTENT_LENGTH = 0;

{_VALID_LENGTH}
__attribute__((constructor(101))) static void read_file_content(void) {{
    FILE_CONTENT_PATH = getenv("FILE_CONTENT_PATH");
    FILE *file = FILE_CONTENT_PATH ? fopen(FILE_CONTENT_PATH, "rb") : NULL;
    if (!file) {{ perror("FILE_CONTENT_PATH"); exit(1); }}
    unsigned long size = 0, room = 1 << 16, got;
    unsigned char *raw = malloc(room);
    while (raw && (got = fread(raw + size, 1, room - size, file)) > 0)
        if ((size += got) == room) raw = realloc(raw, room *= 2);
    fclose(file);
    char *text = raw ? malloc(size * 3 + 1) : NULL, *to = text;
    if (!text) {{ perror("FILE_CONTENT"); exit(1); }}
    for (unsigned long i = 0, length; i < size; i += length ? length : 1) {{
        length = valid_length(raw + i, size - i);
        memcpy(to, length ? (char *)raw + i : "\\xEF\\xBF\\xBD", length ? length : 3);
        to += length ? length : 3;
    }}
    *to = 0;
    free(raw);
    FILE_CONTENT = text;
    FILE_CONTENT_LENGTH = to - text;
}}
"""

# In C++ it is all in the header: a file of C beside the program would be given the standard of C++,
# of which g++ warns, and which clang++ refuses.
_HEADER_OF_CPP = f"""\
#include <cstdio>
#include <cstdlib>
#include <string>
namespace file_content_reader {{
{_VALID_LENGTH}
static const char *find_path() {{
    const char *path = std::getenv("FILE_CONTENT_PATH");
    return path ? path : "";
}}

static std::string read_text(const char *path) {{
    std::FILE *file = std::fopen(path, "rb");
    if (!file) {{ std::perror("FILE_CONTENT_PATH"); std::exit(1); }}
    std::string raw, text;
    char part[1 << 16];
    for (std::size_t got; (got = std::fread(part, 1, sizeof part, file)) > 0;)
        raw.append(part, got);
    std::fclose(file);
    text.reserve(raw.size());
    for (unsigned long i = 0, length; i < raw.size(); i += length ? length : 1) {{
        const char *at = raw.data() + i;
        length = valid_length(reinterpret_cast<const unsigned char *>(at), raw.size() - i);
        text.append(length ? at : "\\xEF\\xBF\\xBD", length ? length : 3);
    }}
    return text;
}}
}}
static const std::string FILE_CONTENT_PATH(file_content_reader::find_path());
static const std::string FILE_CONTENT(file_content_reader::read_text(FILE_CONTENT_PATH.c_str()));
"""

_BINDING = FileBinding({"file_content.h": _HEADER, "file_content.c": _READER})
_BIND = ("-include", "{job}/file_content.h", "-x", "c", "{job}/file_content.c")
_BINDING_OF_CPP = FileBinding({"file_content.h": _HEADER_OF_CPP})
_BIND_OF_CPP = ("-include", "{job}/file_content.h")

_MAIN = re.compile(r"\bmain\s*\(")
_PREAMBLE = re.compile(
    r"\s*(?:#(?:[^\n\\]|\\.)*(?:\n|\Z)|using\s+[^;{}()]*;|typedef\s+[^;{}()]*;)", re.DOTALL
)


def wrap_with(headers: str) -> Callable[[str], ProgramText]:
    """A wrapper for code without a main function: its preprocessor lines and `using` clauses stay
    above, its statements go into one, and the given standard headers come first."""

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


# What the standards of C, C++ and POSIX name, and glibc's own: none of them holds the time.
_HEADERS = read_binding("c_headers.txt")
_HEADERS_OF_CPP = read_binding("cpp_headers.txt")
_KNOWN = frozenset(f"{name}.h" for name in _HEADERS.split()).union(_HEADERS_OF_CPP.split())
# The time, or what may come to it: pasting, also by a macro of a header, a half of its name that
# could be pasted, other spellings of `#` and of characters. Then further files: includes of
# anything but known headers, tests for a header, what only pragmas or an assembler read.
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
