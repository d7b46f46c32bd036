"""Every source module: one concept, said in its first line."""

from __future__ import annotations

import ast

LINES_MAX = 400


def test_every_module_says_what_lives_in_it(modules):
    assert [path for path, text in modules.items() if not ast.get_docstring(ast.parse(text))] == []


def test_every_module_is_short_enough_to_be_one_concept(modules):
    lines = {path: len(text.splitlines()) for path, text in modules.items()}
    assert {path: count for path, count in lines.items() if count > LINES_MAX} == {}


# The security core: whatever crosses a process there is typed, in `messages` of either end.
TYPED = (
    *("executor/spawner/", "executor/cells/", "executor/pool/", "executor/sessions/"),
    *("executor/containers/agent/", "executor/containers/box.py", "executor/containers/link.py"),
    *("executor/containers/place.py", "executor/containers/box.py", "executor/engine/orders"),
)


def untyped(text: str) -> bool:
    """Whether a module names `Any`."""
    names = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name))
    return any(node.id == "Any" for node in names)


def test_nothing_in_the_security_core_is_of_any_type(modules):
    core = {path: text for path, text in modules.items() if path.startswith(TYPED)}
    assert core
    assert [path for path, text in core.items() if untyped(text)] == []


def test_an_untyped_message_is_seen():
    assert untyped("def f(message: dict[str, Any]) -> None: ...")
    assert not untyped("def f(message: FromSupervisor) -> None: ...")
