"""`ctx_batch_execute`: run several commands, then search what they printed."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from ctxmode.mcp import reply
from ctxmode.mcp.reply import FLAG, LIST, QUERIES, Reply, count_produced_bytes, object_schema
from ctxmode.mcp.tool import (
    RUNS_CODE,
    Arguments,
    CallContext,
    Milliseconds,
    Query,
    Strings,
    Tool,
    read_list,
    run_deadline,
    seconds,
)
from ctxmode.operations.batch import BatchCommand, BatchRequest, run_batch
from ctxmode.render import results


def _label_commands(value: Any) -> Any:  # noqa: ANN401 - whatever a client sent
    """Commands as objects with labels; one without a label is cmd_N."""
    if isinstance(value, str) and value.strip().startswith("{"):
        try:
            value = json.loads(value)
        except ValueError:
            value = [value]
    items = read_list(value)
    if not isinstance(items, list):
        return items
    labelled = []
    for number, item in enumerate(items, start=1):
        command = {"command": item} if isinstance(item, str) else item
        if isinstance(command, dict) and not command.get("label"):
            command = {**command, "label": f"cmd_{number}"}
        labelled.append(command)
    return labelled


class LabelledCommand(Arguments):
    label: str
    command: str
    language: str = "shell"
    packages: Strings = Field([])


class BatchArguments(Arguments):
    commands: Annotated[
        list[LabelledCommand], BeforeValidator(_label_commands), Field(min_length=1, max_length=100)
    ]
    queries: Annotated[list[Query], BeforeValidator(read_list), Field(max_length=50)] = Field(
        [], description="searched in all outputs"
    )
    timeout: Milliseconds | None = Field(None, description="ms for all")
    concurrency: int | None = Field(
        None, ge=1, le=64, description="default: two per processor; 1: in order"
    )
    cwd: str | None = None
    query_scope: Literal["batch", "global"] = "batch"


async def _call(call: CallContext, given: BatchArguments) -> Reply:
    request = BatchRequest(
        commands=tuple(
            BatchCommand(c.label, c.command, c.language, tuple(c.packages)) for c in given.commands
        ),
        queries=tuple(given.queries),
        timeout_s=seconds(given.timeout),
        concurrency=given.concurrency,
        cwd=given.cwd,
        scope=given.query_scope,
    )
    answer = await run_batch(call.app, request, call.caller_midway, fetching=call.caller)
    produced = sum(count_produced_bytes(one.answer) for one in answer.commands if one.answer)
    return Reply(results.batch_text(answer), reply.describe_batch(answer), produced=produced)


TOOL = Tool(
    name="ctx_batch_execute",
    description="""\
WHEN: several commands answer one question: run them in one call and ask queries of what they print.
WHEN NOT: a later command depends on an earlier answer: ctx_execute one by one.
RETURNS: each command's status and exit code, then per query the passages that match, or without \
queries the outputs.
EXAMPLE: {"commands":[{"label":"log","command":"git log -50"}],"queries":["breaking change"]}""",
    arguments=BatchArguments,
    annotations=RUNS_CODE,
    call=_call,
    deadline_s=run_deadline,
    output_schema=object_schema({"ok": FLAG, "commands": LIST} | QUERIES, ("ok", "commands")),
)
