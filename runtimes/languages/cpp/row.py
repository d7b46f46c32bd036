"""C++, whole or as bare statements completed into a main function."""

from __future__ import annotations

from runtimes.languages.c.row import INPUTS, include_all, wrap_with
from runtimes.model import FileBinding, Language, Toolchain

_BIND = ("-include", "{job}/file_content.h")
_GPP = Toolchain(
    name="g++",
    executables={"cxx": ("g++", "c++")},
    compile=(
        *("{cxx}", "-std=gnu++20", "-O1", "-pipe", "-pthread", "-o", "{out}", "{bind}"),
        *("-x", "c++", "{source}"),
    ),
    run=("{out}", "{args}"),
    bind=_BIND,
    inputs=INPUTS,
)
_CLANGPP = Toolchain(
    name="clang++",
    executables={"cxx": ("clang++",)},
    compile=_GPP.compile,
    run=_GPP.run,
    bind=_GPP.bind,
    inputs=INPUTS,
)

ROW = Language(
    name="cpp",
    title="C++",
    aliases=("c++", "cxx", "cplusplus"),
    extensions=(".cpp", ".cc", ".cxx", ".c++"),
    interpreters=(),
    source_name="main.cpp",
    grammar="cpp",
    order=15,
    toolchains=(_GPP, _CLANGPP),
    wrap=wrap_with(
        include_all(
            "algorithm", "cstdint", "fstream", "iostream", "map", "set", "sstream", "string"
        )
        + include_all("unordered_map", "vector")
        + "using namespace std;\n"
    ),
    hello_output="hello from c++\n",
    # All of it is in the header: a separate C file would be compiled by the standard of C++, of
    # which g++ warns, and which clang++ refuses.
    binding=FileBinding({"file_content.h": "cpp/bind.hpp"}),
)
