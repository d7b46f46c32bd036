"""PHP, with or without its opening tag."""

from __future__ import annotations

import re

from runtimes.model import (
    Driver,
    FileBinding,
    Language,
    PrewarmCommand,
    ProgramText,
    Toolchain,
)

_OPENING_TAG = re.compile(r"\A\s*<\?php\b", re.ASCII)


def wrap(code: str) -> ProgramText:
    """Add the opening tag to code that starts with neither a tag, a template's markup nor `#!`.

    No PHP statement starts with `<`, so that character decides.
    """
    start = code.lstrip("\ufeff \t\r\n")
    if start.startswith(("<", "#!")):
        return ProgramText(code)
    return ProgramText("<?php " + code, wrapped=True)


def open_tag(code: str) -> str:
    """Add the opening tag to typed code once. It is never a template."""
    return "<?php " + _OPENING_TAG.sub("", code, count=1)


_PHP = Toolchain(
    name="php",
    executables={"php": ("php",)},
    run=(
        *("{php}", "-d", "display_errors=stderr", "-d", "log_errors=0", "-d", "html_errors=0"),
        *("-d", "memory_limit=-1", "{bind}", "-f", "{source}", "--", "{args}"),
    ),
    bind=("-d", "auto_prepend_file={job}/file_content.php"),
    reads=("/etc/php", "/etc/php.ini", "/etc/php.d"),
    # The program is opened when all else is ready.
    prewarm=PrewarmCommand(gate="{source}", not_with=("PHPRC", "PHP_INI_SCAN_DIR")),
    heavy=True,
)

ROW = Language(
    name="php",
    title="PHP",
    aliases=("php8",),
    extensions=(".php", ".phtml"),
    interpreters=("php",),
    source_name="main.php",
    grammar="php",
    order=8,
    toolchains=(_PHP,),
    wrap=wrap,
    hello_output="hello from php\n",
    # JSON is the one part of every PHP that replaces invalid UTF-8 exactly; mbstring may be absent.
    binding=FileBinding({"file_content.php": "php/bind.php"}),
    conversation=Driver("php/driver.php", ("php",), open_tag, tag="<?php "),
)
