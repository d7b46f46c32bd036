"""The tools as a table: name, description, arguments, hints, deadline, and what each one calls.

Descriptions say WHEN, WHEN NOT, RETURNS and EXAMPLE, in that order, and invite instead of
forbidding: agents follow an offer, and every word here is paid for in every conversation.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from mcp.types import ToolAnnotations
from pydantic import BaseModel

from ctxmode.app import App
from ctxmode.mcp import arguments, images, keeping, staged, structured
from ctxmode.mcp.conversation import Conversation
from ctxmode.mcp.reply import Reply
from ctxmode.operations.batch import BatchCommand, BatchRequest
from ctxmode.render import results
from executor import Background, Caller
from executor.model import Limits, Request, Result
from executor.run.output_routing import Answer

MILLISECONDS = 1000
ANSWER_GRACE_S = 60.0
"""What a run's tool call may take beyond the run's own deadline: queueing, keeping, indexing."""


@dataclass(frozen=True, slots=True)
class Call:
    """What a call is carried out on: the open project, and the client that asked."""

    app: App
    conversation: Conversation
    tools: frozenset[str] = frozenset()

    @property
    def caller(self) -> Caller:
        """Who asks, as rules see it: with these tools, and a person who may be asked."""
        return Caller(self.tools, self.conversation.consent, self.conversation.preparing)

    @property
    def caller_midway(self) -> Caller:
        """The same for one of several programs, when others may have run already."""
        return replace(self.caller, consent=partial(self.conversation.consent, may_restart=False))

    async def execute(self, request: Request) -> Answer:
        """Run a program, with its output in the progress display."""
        return await self.app.execute(
            request, on_output=self.conversation.take_output, caller=self.caller
        )


@dataclass(frozen=True, slots=True)
class Tool:
    """One row. `deadline_s` tells the longest that a call with these arguments may take."""

    name: str
    description: str
    arguments: type[BaseModel]
    annotations: ToolAnnotations
    call: Callable[[Call, Any], Awaitable[Reply]]
    deadline_s: Callable[[Any], float]


def _seconds(timeout_ms: float | None) -> float | None:
    return None if timeout_ms is None else timeout_ms / MILLISECONDS


def _run_deadline(given: Any) -> float:  # noqa: ANN401 - any arguments with a timeout
    return (_seconds(given.timeout) or Limits().wall_s) + ANSWER_GRACE_S


async def _execute(call: Call, given: arguments.Execute) -> Reply:
    request = Request(
        given.language,
        code=given.code,
        cwd=given.cwd,
        timeout_s=_seconds(given.timeout),
        profile=given.profile,
        intent=given.intent,
        artifacts=tuple(given.artifacts),
        background=given.background,
        session=given.session,
        fresh=given.fresh,
        owner=call.conversation.owner,
    )
    if given.background:
        return _background_reply(await call.app.start(request, call.caller))
    return _run_reply(await call.execute(request))


async def _execute_file(call: Call, given: arguments.ExecuteFile) -> Reply:
    request = Request(
        given.language,
        code=given.code,
        bind_file=given.path,
        timeout_s=_seconds(given.timeout),
        intent=given.intent,
    )
    return _run_reply(await call.execute(request))


def _run_reply(answer: Answer) -> Reply:
    return Reply(
        results.answer_text(answer),
        structured.run(answer),
        structured.is_error(answer.result),
        images.of(answer.result.artifacts),
        printed(answer.result),
    )


def printed(result: Result) -> int:
    """How many bytes the program printed, shown or not."""
    return result.stdout.bytes_total + result.stderr.bytes_total


async def _background(call: Call, given: arguments.Background) -> Reply:
    if given.handle is None:
        known = call.app.backgrounds(call.conversation.owner)
        listed = [structured.background(one, with_output=False) for one in known]
        return Reply(results.backgrounds_text(known), {"background": listed})
    wait_s = _seconds(given.wait) or 0
    owner = call.conversation.owner
    return _background_reply(
        await call.app.background(given.handle, wait_s=wait_s, stop=given.stop, owner=owner)
    )


def _background_reply(background: Background[Answer]) -> Reply:
    answer = background.answer
    return Reply(
        results.background_text(background),
        structured.background(background),
        bool(background.error) or (answer is not None and structured.is_error(answer.result)),
        images.of(answer.result.artifacts) if answer else (),
        printed(answer.result) if answer else 0,
    )


async def _batch(call: Call, given: arguments.Batch) -> Reply:
    request = BatchRequest(
        commands=tuple(BatchCommand(c.label, c.command) for c in given.commands),
        queries=tuple(given.queries),
        timeout_s=_seconds(given.timeout),
        concurrency=given.concurrency,
        cwd=given.cwd,
        scope=given.query_scope,
    )
    answer = await call.app.batch(request, call.caller_midway)
    produced = sum(printed(one.answer.result) for one in answer.commands if one.answer)
    return Reply(results.batch_text(answer), structured.batch(answer), produced=produced)


async def _doctor(call: Call, given: arguments.Doctor) -> Reply:
    del given
    diagnosis = await call.app.doctor()
    return Reply(results.doctor_text(diagnosis), diagnosis.to_json())


RUNS_CODE = ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=False)
ADDS = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
FETCHES = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=True)
READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
FORGETS = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
)

TOOLS: tuple[Tool, ...] = (
    Tool(
        "ctx_execute",
        """\
WHEN: a command or a computation may print more than a few lines, or data should be counted, \
filtered, joined or parsed: write a program that prints only the answer. Languages: javascript, \
typescript, python, shell, ruby, go, rust, php, perl, r, elixir, csharp, java, c, cpp, lua.
WHEN NOT: a short command that changes the machine (git commit, mkdir, install): use the host's \
own shell, since here the project is a copy and the network is off.
RETURNS: what it printed up to 4 KB, then one line: status, exit code, times, sandbox, changed \
files. Larger output comes as head and tail, or with intent as the sections that match, and is \
kept whole under an output_id for ctx_search.
EXAMPLE: {"language":"shell","code":"npm test 2>&1","intent":"failing tests"}""",
        arguments.Execute,
        RUNS_CODE,
        _execute,
        _run_deadline,
    ),
    Tool(
        "ctx_execute_file",
        """\
WHEN: a question about one large file (log, CSV, JSON, source): the program sees its text as \
FILE_CONTENT and its path as FILE_CONTENT_PATH (lower case in rust and elixir), and prints the \
answer.
WHEN NOT: the file is to be edited, so its text is needed in full: read it.
RETURNS: as ctx_execute.
EXAMPLE: {"path":"app.log","language":"python",\
"code":"print(sum('ERROR' in l for l in FILE_CONTENT.splitlines()))"}""",
        arguments.ExecuteFile,
        RUNS_CODE,
        _execute_file,
        _run_deadline,
    ),
    Tool(
        "ctx_background",
        """\
WHEN: a program was started by ctx_execute with background: read its output so far, wait for its \
end, or stop it.
WHEN NOT: the answer is needed before anything else: run it with a timeout and without background.
RETURNS: what it has printed, whether it still runs, and at its end the same as ctx_execute. It \
ends with this server, or after its timeout (1 h if none was given).
EXAMPLE: {"handle":"bg-3fa9c1","wait":20000}""",
        arguments.Background,
        RUNS_CODE,
        _background,
        lambda given: (_seconds(given.wait) or 0) + ANSWER_GRACE_S,
    ),
    Tool(
        "ctx_batch_execute",
        """\
WHEN: several shell commands answer one question: run them in one call and ask queries of what \
they print.
WHEN NOT: a later command depends on an earlier answer: ctx_execute one by one.
RETURNS: each command's status and exit code, then per query the passages that match; without \
queries the outputs.
EXAMPLE: {"commands":[{"label":"log","command":"git log -50"},{"label":"deps","command":\
"cat package.json"}],"queries":["breaking change"]}""",
        arguments.Batch,
        RUNS_CODE,
        _batch,
        _run_deadline,
    ),
    Tool(
        "ctx_index",
        """\
WHEN: documents or code will be asked about more than once: a path (file or folder of the \
project), or content with a source label.
WHEN NOT: one question about one file: ctx_execute_file.
RETURNS: how many sections became searchable, what was left out and why.
EXAMPLE: {"path":"docs","source":"docs"}""",
        arguments.Index,
        ADDS,
        keeping.index,
        lambda given: 300.0,
    ),
    Tool(
        "ctx_fetch_and_index",
        """\
WHEN: a page of the web, or several, may hold the answer: each becomes searchable text (HTML as \
Markdown, PDF, JSON).
WHEN NOT: it was fetched within a day: ctx_search finds it.
RETURNS: per page its source label, sections and beginning, or why it failed.
EXAMPLE: {"url":"https://docs.python.org/3/library/sqlite3.html","source":"python"}""",
        arguments.Fetch,
        FETCHES,
        keeping.fetch,
        lambda given: 30.0 * (1 + len(given.requests)) + ANSWER_GRACE_S,
    ),
    Tool(
        "ctx_search",
        """\
WHEN: something that was indexed, or the kept output of a run, holds the answer. Several queries \
in one call cost the least; a query may hold kind:code, lang:python, path:src/, since:7d.
WHEN NOT: nothing was indexed or run yet: ctx_index or ctx_execute first.
RETURNS: per query the best passages, exact text with source and lines.
EXAMPLE: {"queries":["timeout retry","exit code"],"source":"out-7f3k2m9q"}""",
        arguments.Search,
        READS,
        keeping.search,
        lambda given: 60.0,
    ),
    Tool(
        "ctx_purge",
        """\
WHEN: kept text should be forgotten for good: all of the project, or what fits source, kind, \
sessionId and olderThan together.
WHEN NOT: something changed: index or run it again, the newer version is found.
RETURNS: how much was forgotten; nothing is without confirm.
EXAMPLE: {"confirm":true,"source":"docs/old.md"}""",
        arguments.Purge,
        FORGETS,
        keeping.purge,
        lambda given: 120.0,
    ),
    Tool(
        "ctx_changes",
        """\
WHEN: a run's changes were staged or held: list them, show one as a diff, apply it (the person is \
asked), or drop it.
WHEN NOT: the result says "changed": they are in the project already.
RETURNS: the change sets, a diff, or what was applied.
EXAMPLE: {"id":"3f9a","action":"apply"}""",
        arguments.Changes,
        RUNS_CODE,
        staged.changes,
        lambda given: 120.0,
    ),
    Tool(
        "ctx_stats",
        """\
WHEN: the user asks what these tools have kept out of the conversation.
WHEN NOT: in the course of other work.
RETURNS: bytes produced, returned and kept, per tool and in all.
EXAMPLE: {}""",
        arguments.Stats,
        READS,
        keeping.stats,
        lambda given: 30.0,
    ),
    Tool(
        "ctx_doctor",
        """\
WHEN: a language fails to start, or you need to know which run here and how strong the sandbox is.
WHEN NOT: before ordinary calls: each result names what confined it.
RETURNS: each language with version or the reason and remedy, the isolation layers, the storage.
EXAMPLE: {}""",
        arguments.Doctor,
        READS,
        _doctor,
        lambda given: 180.0,
    ),
)
BY_NAME = {tool.name: tool for tool in TOOLS}
STAGED_ONLY = "ctx_changes"


def offered(*, staging: bool = False) -> tuple[str, ...]:
    """The names of the tools that are served where nobody chose any."""
    return tuple(name for name in BY_NAME if staging or name != STAGED_ONLY)
