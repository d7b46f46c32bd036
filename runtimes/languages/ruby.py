"""Ruby."""

from __future__ import annotations

from runtimes.model import (
    Driver,
    FileBinding,
    HomeLibrary,
    Language,
    Packages,
    PrewarmCommand,
    Toolchain,
)

_BIND = """\
FILE_CONTENT_PATH = ENV.fetch("FILE_CONTENT_PATH").freeze
FILE_CONTENT = File.binread(FILE_CONTENT_PATH).force_encoding(Encoding::UTF_8).scrub.freeze
"""

_RUBY = Toolchain(
    name="ruby",
    executables={"ruby": ("ruby",)},
    run=("{ruby}", "{bind}", "{source}", "{args}"),
    bind=("-r", "{job}/file_content.rb"),
    reads=("/etc/ssl/openssl.cnf",),
    # Required last of all before the program is read; it has been opened by then.
    prewarm=PrewarmCommand(
        "wait.rb",
        ".prewarm/wait.rb",
        run=("{ruby}", "-r", "{job}/.prewarm/wait.rb", "{bind}", "{source}", "{args}"),
        env={"RUBYLIB": ""},
        opened=True,
        first_line=True,
        not_with=("RUBYOPT",),
    ),
    heavy=True,
)

RUBY = Language(
    name="ruby",
    title="Ruby",
    aliases=("rb",),
    extensions=(".rb", ".rake"),
    interpreters=("ruby",),
    source_name="main.rb",
    grammar="ruby",
    toolchains=(_RUBY,),
    hello='word = "ruby"\nputs "hello from #{word}"\n',
    hello_output="hello from ruby\n",
    binding=FileBinding({"file_content.rb": _BIND}),
    env={"RUBYLIB": "{cwd}/lib:{cwd}"},
    libraries=(
        # The closing colon keeps the default gem paths.
        HomeLibrary(".local/share/gem/ruby/*", "GEM_PATH", "{paths}:"),
        HomeLibrary(".gem/ruby/*", "GEM_PATH", "{paths}:"),
    ),
    driver=Driver("driver.rb", ("ruby",)),
    conversation=Driver("driver.rb", ("ruby",)),
    packages=Packages(
        debian=("ruby",),
        fedora=("ruby",),
        arch=("ruby",),
        brew=("ruby",),
        windows=("RubyInstallerTeam.Ruby.3.3",),
    ),
)
