"""C and C++, whole or as bare statements completed into a main function."""

from __future__ import annotations

import re
from collections.abc import Callable

from runtimes import lexing
from runtimes.model import CompileInputs, FileBinding, Language, Packages, Source, Toolchain

# For C it declares without including anything, so that the program's own feature macros count.
_HEADER = """\
#ifdef __cplusplus
#include <string>
extern "C" const char *file_content_text(void);
extern "C" const char *file_content_path_text(void);
extern "C" unsigned long file_content_length(void);
static const std::string FILE_CONTENT_PATH(file_content_path_text());
static const std::string FILE_CONTENT(file_content_text(), file_content_length());
#else
extern const char *FILE_CONTENT;
extern const char *FILE_CONTENT_PATH;
extern unsigned long FILE_CONTENT_LENGTH;
#endif
"""

# Each byte that is not valid UTF-8 becomes U+FFFD, three bytes: hence the buffer's size.
_READER = """\
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *FILE_CONTENT = "";
const char *FILE_CONTENT_PATH = "";
unsigned long FILE_CONTENT_LENGTH = 0;

static unsigned long valid_length(const unsigned char *at, unsigned long left) {
    unsigned long length = *at < 0x80 ? 1 : *at < 0xC2 ? 0 : *at < 0xE0 ? 2 : *at < 0xF0 ? 3
                         : *at < 0xF5 ? 4 : 0;
    if (length > left) return 0;
    for (unsigned long i = 1; i < length; i++)
        if ((at[i] & 0xC0) != 0x80) return 0;
    if ((*at == 0xE0 && at[1] < 0xA0) || (*at == 0xED && at[1] > 0x9F)) return 0;
    if ((*at == 0xF0 && at[1] < 0x90) || (*at == 0xF4 && at[1] > 0x8F)) return 0;
    return length;
}

__attribute__((constructor(101))) static void read_file_content(void) {
    FILE_CONTENT_PATH = getenv("FILE_CONTENT_PATH");
    FILE *file = FILE_CONTENT_PATH ? fopen(FILE_CONTENT_PATH, "rb") : NULL;
    if (!file) { perror("FILE_CONTENT_PATH"); exit(1); }
    unsigned long size = 0, room = 1 << 16, got;
    unsigned char *raw = malloc(room);
    while (raw && (got = fread(raw + size, 1, room - size, file)) > 0)
        if ((size += got) == room) raw = realloc(raw, room *= 2);
    fclose(file);
    char *text = raw ? malloc(size * 3 + 1) : NULL, *to = text;
    if (!text) { perror("FILE_CONTENT"); exit(1); }
    for (unsigned long i = 0, length; i < size; i += length ? length : 1) {
        length = valid_length(raw + i, size - i);
        memcpy(to, length ? (char *)raw + i : "\\xEF\\xBF\\xBD", length ? length : 3);
        to += length ? length : 3;
    }
    *to = 0;
    free(raw);
    FILE_CONTENT = text;
    FILE_CONTENT_LENGTH = to - text;
}

const char *file_content_text(void) { return FILE_CONTENT; }
const char *file_content_path_text(void) { return FILE_CONTENT_PATH; }
unsigned long file_content_length(void) { return FILE_CONTENT_LENGTH; }
"""

_BINDING = FileBinding({"file_content.h": _HEADER, "file_content.c": _READER})
_BIND = ("-include", "{job}/file_content.h", "-x", "c", "{job}/file_content.c")

_MAIN = re.compile(r"\bmain\s*\(")
_PREAMBLE = re.compile(
    r"\s*(?:#(?:[^\n\\]|\\.)*(?:\n|\Z)|using\s+[^;{}()]*;|typedef\s+[^;{}()]*;)", re.DOTALL
)


def wrap_with(headers: str) -> Callable[[str], Source]:
    """A wrapper for code without a main function: its preprocessor lines and `using` clauses stay
    above, its statements go into one, and the given standard headers come first."""

    def wrap(code: str) -> Source:
        blanked = lexing.blank(code, lexing.C)
        if _MAIN.search(blanked):
            return Source(code)
        end = lexing.after_leading(blanked, _PREAMBLE)
        line = code.count("\n", 0, end) + 1
        opening = f"int main(int argc, char **argv) {{\n#line {line}\n"
        text = f"{headers}#line 1\n{code[:end]}\n{opening}{code[end:]}\nreturn 0; }}\n"
        return Source(text, wrapped=True)

    return wrap


def _includes(*names: str) -> str:
    return "".join(f"#include <{name}>\n" for name in names)


# Includes of anything but a header by its plain name, tests for one, the assembler's own, the time.
_INPUTS = CompileInputs(
    r"#\s*include(?!\s*<\w)|#\s*(?:include_next|import|embed)|include[^\n]*\.\."
    r"|__has_|__DATE__|__TIME|(?<!\w)\.inc(?:bin|lude)"
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
    bind=_BIND,
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
    binding=_BINDING,
    packages=Packages(
        debian=("g++", "libc6-dev"),
        fedora=("gcc-c++",),
        arch=("gcc",),
        brew=("gcc",),
        windows=("LLVM.LLVM",),
    ),
)
