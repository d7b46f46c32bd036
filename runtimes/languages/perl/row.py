"""Perl."""

from __future__ import annotations

from runtimes.model import (
    Driver,
    FileBinding,
    HomeLibrary,
    Language,
    PrewarmCommand,
    Toolchain,
)
from runtimes.toplevel import parse_root


def share_names(code: str) -> str:
    """Rewrite `my` of a top-level statement to `our`, so that later programs find the name."""
    source = code.encode()
    out, at = [], 0
    for statement in parse_root(source, "perl").children:
        declaration = statement.named_children[0] if statement.named_children else None
        if declaration is not None and declaration.type == "assignment_expression":
            declaration = declaration.child_by_field_name("left")
        if declaration is None or declaration.type != "variable_declaration":
            continue
        keyword = declaration.children[0]
        if keyword.type == "my":
            out += [source[at : keyword.start_byte], b"our"]
            at = keyword.end_byte
    return b"".join([*out, source[at:]]).decode()


_PERL = Toolchain(
    name="perl",
    executables={"perl": ("perl",)},
    run=("{perl}", "{bind}", "{source}", "{args}"),
    bind=("-I{job}", "-Mfile_content"),
    reads=("/etc/perl",),
    # Used last of all before the program is read; it has been opened by then.
    prewarm=PrewarmCommand(
        "perl/wait.pm",
        ".prewarm/prewarm.pm",
        run=("{perl}", "-mprewarm", "{bind}", "{source}", "{args}"),
        env={"PERL5LIB": "{job}/.prewarm"},
        opened=True,
    ),
)

ROW = Language(
    name="perl",
    title="Perl",
    aliases=("pl", "perl5"),
    extensions=(".pl", ".pm", ".t"),
    interpreters=("perl",),
    source_name="main.pl",
    grammar="perl",
    order=9,
    toolchains=(_PERL,),
    hello_output="hello from perl\n",
    # Importing from another package declares the variables for `use strict`. The text is UTF-8
    # octets, as Perl has it for source literals and output unless a program requests more; only
    # invalid parts are replaced, so the encoder is not loaded for the rest.
    binding=FileBinding({"file_content.pm": "perl/bind.pm"}),
    env={"PERL5LIB": "{cwd}/lib:{cwd}"},
    libraries=(HomeLibrary("perl5/lib/perl5", "PERL5LIB"),),
    conversation=Driver("perl/driver.pl", ("perl",), share_names),
)
