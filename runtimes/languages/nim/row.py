"""Nim: top-level statements are programs, and the binding is a module that each one imports."""

from __future__ import annotations

from runtimes.model import CompileInputs, FileBinding, Language, Toolchain

_NIM = Toolchain(
    name="nim",
    executables={"nim": ("nim",), "cc": ("gcc",)},
    compile=(
        *("{nim}", "c", "--threads:on", "--hints:off", "--warnings:off", "--colors:off"),
        "--skipUserCfg:on",
        # Errors name lines, and a program is fast enough, as of C.
        *("--passC:-O1", "--nimcache:{scratch}/.nim", "--out:{out}", "{bind}", "{source}"),
    ),
    run=("{out}", "{args}"),
    bind=("--path:{job}", "--import:file_content"),
    reads=("/etc/nim",),
    # Modules are found next to the program, and configuration there and above it is read.
    inputs=CompileInputs(beside=("*.nim", "*.nims", "*.cfg", "*.nimble"), complete=False),
)

ROW = Language(
    name="nim",
    title="Nim",
    aliases=(),
    extensions=(".nim",),
    interpreters=(),
    source_name="main.nim",
    grammar="nim",
    order=17,
    toolchains=(_NIM,),
    hello_output="hello from nim\n",
    binding=FileBinding({"file_content.nim": "nim/bind.nim"}),
)
