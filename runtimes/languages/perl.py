"""Perl."""

from __future__ import annotations

from runtimes.languages import read_binding
from runtimes.model import (
    Driver,
    FileBinding,
    HomeLibrary,
    Language,
    Packages,
    PrewarmCommand,
    Toolchain,
)
from runtimes.toplevel import share_names

# Importing from another package declares the variables for `use strict`. The text is UTF-8 octets,
# as Perl has it for source literals and output unless a program requests more; only invalid parts
# are replaced, so the encoder is not loaded for the rest.
_BIND = read_binding("perl.pm")

_PERL = Toolchain(
    name="perl",
    executables={"perl": ("perl",)},
    run=("{perl}", "{bind}", "{source}", "{args}"),
    bind=("-I{job}", "-Mfile_content"),
    reads=("/etc/perl",),
    # Used last of all before the program is read; it has been opened by then.
    prewarm=PrewarmCommand(
        "wait.pm",
        ".prewarm/prewarm.pm",
        run=("{perl}", "-mprewarm", "{bind}", "{source}", "{args}"),
        env={"PERL5LIB": "{job}/.prewarm"},
        opened=True,
    ),
)

PERL = Language(
    name="perl",
    title="Perl",
    aliases=("pl", "perl5"),
    extensions=(".pl", ".pm", ".t"),
    interpreters=("perl",),
    source_name="main.pl",
    grammar="perl",
    toolchains=(_PERL,),
    hello='use strict; use warnings;\nmy $word = "perl";\nprint "hello from $word\\n";\n',
    hello_output="hello from perl\n",
    binding=FileBinding({"file_content.pm": _BIND}),
    env={"PERL5LIB": "{cwd}/lib:{cwd}"},
    libraries=(HomeLibrary("perl5/lib/perl5", "PERL5LIB"),),
    conversation=Driver("driver.pl", ("perl",), share_names),
    packages=Packages(
        debian=("perl",),
        fedora=("perl",),
        arch=("perl",),
        brew=("perl",),
        windows=("StrawberryPerl.StrawberryPerl",),
    ),
)
