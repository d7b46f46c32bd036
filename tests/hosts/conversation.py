"""A script's progress over the requests of one run: what the model says to each, and what it saw.

Requests that offer no tools are side requests (titles, checks): each gets a harmless answer. A
request for a summary is told by a text that the host puts into it.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Sequence

from tests.hosts.script import (
    Answer,
    Call,
    Deferral,
    Exchange,
    Kind,
    Sent,
    Shown,
    ToolUse,
    Transcript,
    Turn,
    Usage,
)

DONE = "All steps are done."
HARMLESS = '{"title": "A task", "isNewTopic": false, "reasoning": "none", "model_choice": "pro"}'
FEW_TOOLS = 2  # a side request may offer one or two tools of its own for structured answers
_NUMBERS = itertools.count(1)  # of all conversations: a host that goes on has them in one record


def summary_mark(number: int) -> str:
    """What the summary of one request for it holds, and nothing else does."""
    return f"summary-number-{number}-of-the-script"


def _summary(number: int) -> str:
    """A summary in the tags of all hosts that look for theirs."""
    told = f"The person asked for steps, and some are done: {summary_mark(number)}."
    return (
        f"<analysis>Steps.</analysis>\n<summary>\n<state_snapshot>\n<overall_goal>{told}"
        "</overall_goal>\n</state_snapshot>\n</summary>"
    )


def _usage(number: int, context: int) -> Usage:
    """Counts that no other response has; few tokens for a context of 0."""
    output = 20 + number
    return Usage(context - output if context else 200 + 3 * number, 50 + number, output)


class Conversation:
    """A script's progress. All methods may be called from threads.

    `deferral` says how to get a tool that was not offered at first. `summary_cue` is what a
    request for a summary has, none if empty. `last` is the call that stands for the end: its
    context is what the last answer says.
    """

    def __init__(
        self,
        steps: Sequence[Call],
        deferral: Deferral | None = None,
        summary_cue: str = "",
        last_context: int = 0,
    ) -> None:
        self._steps = steps
        self._deferral = deferral
        self._summary_cue = summary_cue
        self._last_context = last_context
        self._searched: set[int] = set()
        self._is_search = False
        self._at = 0  # the step that is under way, or comes next
        self._answers: dict[int, tuple[str, str]] = {}
        self._begun: set[int] = set()
        self._missing: set[int] = set()
        self._under_way: Call | None = None
        self._results_before = 0
        self._is_compacted = False  # since the last turn
        self._first: tuple[float, tuple[str, ...]] | None = None
        self._exchanges: list[Exchange] = []
        self._number = next(_NUMBERS)
        self._began = time.monotonic()
        self._lock = threading.Lock()

    def begin_time(self) -> None:
        """Count the time to the first request from now."""
        self._began = time.monotonic()

    def answer(self, turn: Turn, body: str) -> Sent:
        """What the model says now. A repeated request gets the same answer again."""
        with self._lock:
            kind, said, context = self._say(turn, body)
            number = next(_NUMBERS)
            sent = Sent(f"scripted{number}", said, _usage(number, context))
            self._exchanges.append(Exchange(kind, body, sent))
            return sent

    def _say(self, turn: Turn, body: str) -> tuple[Kind, Answer, int]:
        if self._summary_cue and self._summary_cue in body:
            self._take_result(turn)
            self._is_compacted = True
            number = sum(one.kind == "summary" for one in self._exchanges)
            return "summary", _summary(number), 0
        if len(turn.tools) <= FEW_TOOLS:
            return "side", HARMLESS, 0
        if self._first is None:
            seconds = time.monotonic() - self._began
            self._first = seconds, tuple(tool.full_name for tool in turn.tools)
        self._take_result(turn)
        self._is_compacted = False
        said = self._next_answer(turn)
        context = self._steps[self._at].context if said is not DONE else self._last_context
        return "turn", said, context

    def _take_result(self, turn: Turn) -> None:
        """Keep the result of the call that is under way, if it has come.

        A host that compacts asks for no more before it has it, but may leave it out then."""
        has_come = len(turn.results) > self._results_before
        if not self._under_way or not (has_come or self._is_compacted):
            return
        if not self._is_search:
            if turn.results:
                self._answers[self._at] = turn.results[-1], turn.beside
            self._at += 1
        self._under_way = None

    def _next_answer(self, turn: Turn) -> Answer:
        while self._at < len(self._steps):
            if call := self._next_call(turn):
                self._under_way = call
                self._begun.add(self._at)
                self._results_before = len(turn.results)
                tool = turn.find(call.tool)
                assert tool is not None
                name = f"run{self._number}step{self._at}x{len(turn.results)}"
                return ToolUse(name, tool, call.arguments)
            self._missing.add(self._at)
            self._at += 1
        return DONE

    def _next_call(self, turn: Turn) -> Call | None:
        """The step's call, or else what gets its tool; None if nothing does."""
        step = self._steps[self._at]
        self._is_search = False
        if turn.find(step.tool):
            return step
        if self._deferral is None:
            return None
        if self._at in self._searched:
            through = self._deferral.through
            return through(step) if through else None
        self._searched.add(self._at)
        search = self._deferral.search(step.tool)
        self._is_search = turn.find(search.tool) is not None
        return search if self._is_search else None

    def transcript(self) -> Transcript:
        """What was recorded so far."""
        with self._lock:
            shown = tuple(
                Shown(
                    step,
                    at not in self._missing,
                    at in self._begun,
                    *self._answers.get(at, (None, "")),
                )
                for at, step in enumerate(self._steps)
            )
            seconds, tools = self._first or (None, ())
            return Transcript(tools, shown, tuple(self._exchanges), seconds)
