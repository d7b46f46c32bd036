"""The verb `kept stats`: show bytes produced, returned and kept out of contexts."""

from __future__ import annotations

import sys
from functools import partial
from typing import Annotated

from ctxmode import launch
from ctxmode.config.locations import prepare_storage
from ctxmode.errors import UsageError
from ctxmode.operations.operation import Answer, Arg, Asker, Operation
from memory.sessions import TOKENS_BY


def show_stats(
    asker: Asker,
    *,
    tokens: Annotated[bool, Arg("show tokens that hosts report")] = False,
    by: Annotated[
        str | None, Arg("group tokens by this (default: model)", choices=TOKENS_BY)
    ] = None,
    everywhere: Annotated[bool, Arg("include all projects")] = False,
) -> Answer:
    """Show bytes produced, returned and kept out of contexts."""
    if by and not tokens:
        remedy = "Add --tokens: context-mode kept stats --tokens --by day"
        raise UsageError("--by needs --tokens", remedy)
    if tokens:
        return _show_tokens(asker, by or "model", everywhere=everywhere)
    return _show_tools(asker, everywhere=everywhere)


OPERATIONS: dict[str, Operation] = {"stats": show_stats}


def _show_tools(asker: Asker, *, everywhere: bool) -> Answer:
    from ctxmode.doctor.diagnosis import list_prewarmed  # noqa: PLC0415 - tokens do without
    from ctxmode.operations.figures import build_stats_json, read_tool_figures  # noqa: PLC0415
    from ctxmode.operations.quotas import read_holdings  # noqa: PLC0415
    from ctxmode.render.health import (  # noqa: PLC0415
        describe_prewarmed,
        holdings_lines,
        show_usage,
    )

    config = asker.config
    prepare_storage(config)
    usage = read_tool_figures(config, everywhere=everywhere)
    asker.tell(usage.left_out)
    ready = launch.run_in_trio(partial(list_prewarmed, config))
    holdings = read_holdings(config)
    lines = [*holdings_lines(holdings), *describe_prewarmed(ready)]

    def show_all() -> None:
        if usage.tools:
            show_usage(usage)
        where = "any project" if everywhere else "this project"
        none = [] if usage.tools else [f"No tool was called in {where} yet."]
        sys.stdout.writelines(f"{line}\n" for line in none + lines)

    return Answer(build_stats_json(usage, holdings, ready), show=show_all)


def _show_tokens(asker: Asker, by: str, *, everywhere: bool) -> Answer:
    from ctxmode.config.transcripts import load_prices  # noqa: PLC0415 - bytes do without
    from ctxmode.operations.figures import read_token_figures  # noqa: PLC0415
    from ctxmode.operations.sessions import list_notices  # noqa: PLC0415
    from ctxmode.render.session_tables import show_tokens  # noqa: PLC0415 - rich

    config = asker.config
    prices, warnings = load_prices(config.project, config.config_home)
    figures = read_token_figures(config, prices, by=by, everywhere=everywhere)
    asker.tell((*warnings, *figures.left_out, *list_notices(config)))
    return Answer(figures.to_json(), show=partial(show_tokens, figures))
