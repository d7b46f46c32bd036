"""May this run? Parse, match, decide; the verdict is always explained.

    rules = load_rules(project, home=Path.home())
    verdict = judge(Subject("shell", "rm -rf build", cwd=..., home=...), rules)

A guard in front of the sandbox, not the boundary. `judge` follows links and reads the project's
scripts; `evaluate` looks at nothing but what it is given.
"""

from __future__ import annotations


def __getattr__(name: str) -> object:
    """Load what is asked for. The table of names is read with the first one: a hook that only looks
    for secrets asks for none, and reading takes it 4 ms."""
    import lazy_loader  # noqa: PLC0415

    load, list_names, names = lazy_loader.attach_stub(__name__, __file__)
    globals().update(__getattr__=load, __dir__=list_names, __all__=names)
    return names if name == "__all__" else load(name)
