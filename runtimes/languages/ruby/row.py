"""Ruby."""

from __future__ import annotations

from runtimes.model import (
    Driver,
    FileBinding,
    HomeLibrary,
    Language,
    PrewarmCommand,
    Toolchain,
)

_RUBY = Toolchain(
    name="ruby",
    executables={"ruby": ("ruby",)},
    run=("{ruby}", "{bind}", "{source}", "{args}"),
    bind=("-r", "{job}/file_content.rb"),
    reads=("/etc/ssl/openssl.cnf",),
    # Required last of all before the program is read; it has been opened by then.
    prewarm=PrewarmCommand(
        "ruby/wait.rb",
        ".prewarm/wait.rb",
        run=("{ruby}", "-r", "{job}/.prewarm/wait.rb", "{bind}", "{source}", "{args}"),
        env={"RUBYLIB": ""},
        opened=True,
        first_line=True,
        not_with=("RUBYOPT",),
    ),
    heavy=True,
)

ROW = Language(
    name="ruby",
    title="Ruby",
    aliases=("rb",),
    extensions=(".rb", ".rake"),
    interpreters=("ruby",),
    source_name="main.rb",
    grammar="ruby",
    order=5,
    toolchains=(_RUBY,),
    hello_output="hello from ruby\n",
    binding=FileBinding({"file_content.rb": "ruby/bind.rb"}),
    env={"RUBYLIB": "{cwd}/lib:{cwd}"},
    libraries=(
        # The closing colon keeps the default gem paths.
        HomeLibrary(".local/share/gem/ruby/*", "GEM_PATH", "{paths}:"),
        HomeLibrary(".gem/ruby/*", "GEM_PATH", "{paths}:"),
    ),
    driver=Driver("ruby/driver.rb", ("ruby",)),
    conversation=Driver("ruby/driver.rb", ("ruby",)),
)
