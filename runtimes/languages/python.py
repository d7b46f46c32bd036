"""Python: the project's own environment first, then the interpreters on PATH."""

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

# Runs the program as __main__ in a namespace that already has the names. Compiling it here, apart,
# keeps its line numbers, its first-line rules (`from __future__`, coding comments) and its name in
# tracebacks; the hook takes this file's own frame out of them.
_BIND = """\
import sys


def _start():
    import os, types
    path, script = os.environ["FILE_CONTENT_PATH"], sys.argv[1]
    with open(path, encoding="utf-8", errors="replace", newline="") as file:
        content = file.read()
    with open(script, "rb") as file:
        source = file.read()
    main = types.ModuleType("__main__")
    main.__dict__.update(__file__=script, __builtins__=__builtins__)
    main.__dict__.update(FILE_CONTENT=content, FILE_CONTENT_PATH=path)
    sys.modules["__main__"] = main
    sys.argv[:] = sys.argv[1:]
    sys.path[0] = os.path.dirname(os.path.abspath(script))

    def show(kind, error, trace, show_all=sys.excepthook):
        show_all(kind, error, trace.tb_next.tb_next if trace and trace.tb_next else trace)

    sys.excepthook = show
    return source, script, main.__dict__


_source, _script, _names = _start()
exec(compile(_source, _script, "exec", dont_inherit=True), _names)
"""

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
        "wait.py",
        ".prewarm/sitecustomize.py",
        env={"PYTHONPATH": "{job}/.prewarm"},
        beside=("ending.py",),
    ),
)

PYTHON = Language(
    name="python",
    title="Python",
    aliases=("py", "python3"),
    extensions=(".py", ".pyw"),
    interpreters=("python", "python3"),
    source_name="main.py",
    grammar="python",
    toolchains=(_PYTHON,),
    # The f-string distinguishes Python 3.6 and later from earlier versions.
    hello='word = "python"\nprint(f"hello from {word}")\n',
    hello_output="hello from python\n",
    binding=FileBinding({"file_content.py": _BIND}),
    env={
        "PYTHONPATH": "{cwd}",
        "PYTHONUNBUFFERED": "1",
        "PYTHONUTF8": "1",
        # An analysis must not leave __pycache__ folders among the project's changed files.
        "PYTHONDONTWRITEBYTECODE": "1",
    },
    libraries=(HomeLibrary(".local/lib/python3.*", "PYTHONUSERBASE", "{home}/.local"),),
    driver=Driver("driver.py", ("python",)),
    conversation=Driver("driver.py", ("python",)),
    packages=Packages(
        debian=("python3",),
        fedora=("python3",),
        arch=("python",),
        brew=("python",),
        windows=("Python.Python.3.13",),
    ),
)
