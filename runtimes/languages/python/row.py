"""Python: the project's own environment first, then the interpreters on PATH."""

from __future__ import annotations

from runtimes.model import (
    Driver,
    FileBinding,
    HomeLibrary,
    Language,
    PrewarmCommand,
    Toolchain,
)


def is_complete(text: str) -> bool:
    """Apply the rules of Python's own console: a block continues until an empty line."""
    import codeop  # noqa: PLC0415 - only a console needs it
    import warnings  # noqa: PLC0415 - as above

    last = text.rsplit("\n", maxsplit=1)[-1]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if codeop.compile_command(text, symbol="exec") is None:
                return False
    except (SyntaxError, ValueError, OverflowError):
        return True
    return not last[:1].isspace() or "\n" not in text


_PYTHON = Toolchain(
    name="python",
    executables={"python": ("python3", "python")},
    run=("{python}", "{bind}", "{source}", "{args}"),
    bind=("{job}/file_content.py",),
    # Debian has the site configuration in /etc, and that of its plots.
    reads=("/etc/python3*", "/etc/matplotlibrc"),
    project_environment=True,
    # The site configuration is imported last of all before the program is opened.
    prewarm=PrewarmCommand(
        "python/wait.py",
        ".prewarm/sitecustomize.py",
        env={"PYTHONPATH": "{job}/.prewarm"},
        beside=("python/ending.py",),
    ),
)

ROW = Language(
    name="python",
    title="Python",
    aliases=("py", "python3"),
    extensions=(".py", ".pyw"),
    interpreters=("python", "python3"),
    source_name="main.py",
    grammar="python",
    order=3,
    toolchains=(_PYTHON,),
    # Its f-string distinguishes Python 3.6 and later from earlier versions.
    hello_output="hello from python\n",
    # Runs the program as __main__ in a namespace that already has the names. Compiling it here,
    # apart, keeps its line numbers, its first-line rules (`from __future__`, coding comments) and
    # its name in tracebacks; the hook takes this file's own frame out of them.
    binding=FileBinding({"file_content.py": "python/bind.py"}),
    env={
        "PYTHONPATH": "{cwd}",
        "PYTHONUNBUFFERED": "1",
        "PYTHONUTF8": "1",
        # An analysis must not leave __pycache__ folders among the project's changed files.
        "PYTHONDONTWRITEBYTECODE": "1",
    },
    libraries=(HomeLibrary(".local/lib/python3.*", "PYTHONUSERBASE", "{home}/.local"),),
    driver=Driver("python/driver.py", ("python",)),
    conversation=Driver("python/driver.py", ("python",), is_complete=is_complete),
)
