"""Assignments: the later values of variables, and variables that run something."""

from __future__ import annotations

from typing import TYPE_CHECKING

from base.wordlist import word_set
from policy import marks
from policy.shell.options import COMMAND_VARIABLES, PROMPT_VARIABLES, STARTUP_VARIABLES
from policy.shell.script_files import run_script_file
from policy.shell.state import Frame, ShellState, Variable
from policy.shell.syntax import Assignment

if TYPE_CHECKING:
    from policy.shell.walk import Walker

_FILE_VARIABLES = word_set(  # those of files that a program run later reads
    """GOOGLE_APPLICATION_CREDENTIALS AWS_SHARED_CREDENTIALS_FILE AWS_CONFIG_FILE KUBECONFIG NETRC
    PGPASSFILE PGSSLKEY NODE_EXTRA_CA_CERTS SSL_CERT_FILE REQUESTS_CA_BUNDLE CURL_CA_BUNDLE
    NPM_CONFIG_USERCONFIG GIT_CONFIG_GLOBAL DOTENV_CONFIG_PATH ANSIBLE_VAULT_PASSWORD_FILE"""
)


def assign(
    walker: Walker, node: Assignment, state: ShellState, frame: Frame, *, is_exported: bool = False
) -> None:
    if node.subscript is not None:
        walker.expander.texts(node.subscript, state)
    old = state.lookup(node.name)
    if node.items is not None:
        lists = walker.expander.argument_lists(node.items, state)
        items = lists[0] if len(lists) == 1 else (marks.LIST,)
        before = old.items or () if old and node.append else ()
        state.assign(node.name, ("",), before + items)
        return
    values = walker.expander.texts(node.value, state)
    if node.name in state.integers:
        for value in values:
            walker.expander.run_subscripts(value, state)
    if node.append and old is not None and old.items is None:
        values = tuple(before + value for before in old.values for value in values)
    if node.subscript is not None:
        state.assign(node.name, ("",), _with_item(walker, old, node, values, state))
        return
    state.assign(node.name, values)
    if is_exported:
        state.export(node.name)
    consider_variable(walker, node.name, state, frame)


def consider_variable(walker: Walker, name: str, state: ShellState, frame: Frame) -> None:
    """Report variables that are command lines or start-up files for later programs."""
    variable = state.lookup(name)
    if variable is None:
        return
    is_exported = variable.is_exported
    for value in variable.values:
        if name in PROMPT_VARIABLES:
            walker.run_template(value, state)
        elif name == "PROMPT_COMMAND" or (name in COMMAND_VARIABLES and is_exported):
            if marks.is_known(value) and value.strip():
                walker.run_text(value.lstrip("|- "), state.copy(), frame.inside(f"{name}="))
        elif name in _FILE_VARIABLES and is_exported:
            walker.report_file(value, state, frame, is_write=False)
        elif name in STARTUP_VARIABLES and is_exported:
            run_script_file(walker, value, (), state.copy(), frame.inside(f"{name}="))


def _with_item(
    walker: Walker,
    old: Variable | None,
    node: Assignment,
    values: tuple[str, ...],
    state: ShellState,
) -> tuple[str, ...]:
    """Return the array after `name[sub]=value`: in place for a known index, else anywhere."""
    items = list(old.items or old.values if old else ())
    key = walker.expander.text(node.subscript or (), state)
    value = values[0] if len(values) == 1 else marks.LIST
    if key.isdigit() and int(key) <= len(items):
        items[int(key) : int(key) + 1] = [value]
    else:
        items.append(value)
    return tuple(items)
