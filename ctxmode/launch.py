"""From a parsed command line to an open `App`: the one place that starts trio for a verb."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

import trio

from ctxmode.app import App, open_app
from ctxmode.config import load_config
from ctxmode.errors import sole

T = TypeVar("T")


def with_app(args: argparse.Namespace, action: Callable[[App], Awaitable[T]]) -> T:
    """Open the App of the project that the arguments name, do one thing with it, and close it."""
    config = load_config(args.project)

    async def opened() -> T:
        async with open_app(config) as app:
            return await action(app)

    try:
        return trio.run(opened)
    except BaseExceptionGroup as group:
        raise sole(group) from group


def print_json(data: Mapping[str, Any]) -> None:
    """One JSON document on stdout, for programs; keys in the documented order."""
    json.dump(data, sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")
