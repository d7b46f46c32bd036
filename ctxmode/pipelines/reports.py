"""Reports of pipeline runs: JUnit XML, Markdown, GitHub's annotations, terminal."""

from __future__ import annotations

import html
import re
import secrets
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from xml.etree import ElementTree

from rich.console import Console
from rich.live import Live
from rich.text import Text

from ctxmode.pipelines.model import CaseStatus, Outcome, PipelineReport
from ctxmode.render.highlight import harmless, one_line
from ctxmode.render.terminal_output import screen

MARKS = {CaseStatus.PASSED: "ok", CaseStatus.FAILED: "FAILED", CaseStatus.SKIPPED: "skipped"}
# Characters that XML 1.0 forbids; a program may print them.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(report: PipelineReport) -> str:
    """Write JUnit's XML: a test suite with a test case for each case."""
    suite = ElementTree.Element(
        "testsuite",
        name=_xml(report.pipeline.name),
        tests=str(len(report.outcomes)),
        failures=str(report.count(CaseStatus.FAILED)),
        skipped=str(report.count(CaseStatus.SKIPPED)),
        errors="0",
        time=f"{report.wall_s:.3f}",
    )
    for outcome in report.outcomes:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            name=_xml(outcome.name),
            classname=_xml(report.pipeline.name),
            file=_xml(report.pipeline.path),
            line=str(outcome.line),
            time=f"{outcome.wall_s:.3f}",
        )
        if outcome.verdict is not CaseStatus.PASSED:
            tag = "failure" if outcome.verdict is CaseStatus.FAILED else "skipped"
            ElementTree.SubElement(case, tag, message=_xml(outcome.reason)).text = _xml(
                outcome.output
            )
        elif outcome.output:
            ElementTree.SubElement(case, "system-out").text = _xml(outcome.output)
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _xml(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)


def markdown(report: PipelineReport) -> str:
    """Write a table of the cases and their output: failed cases first, the others folded."""
    lines = [f"# {one_line(report.pipeline.name)}", "", summary(report), ""]
    lines += ["| case | result | time | |", "| --- | --- | ---: | --- |"]
    for outcome in report.outcomes:
        cells = (outcome.name, mark(outcome), f"{outcome.wall_s:.2f} s", outcome.reason)
        lines.append(f"| {' | '.join(_cell(cell) for cell in cells)} |")
    printed = [outcome for outcome in report.outcomes if outcome.output]
    for outcome in printed:
        if outcome.verdict is CaseStatus.FAILED:
            lines += ["", f"## {one_line(outcome.name)}", "", *_fence(outcome.output)]
    for outcome in printed:
        if outcome.verdict is CaseStatus.PASSED:
            title = f"<details><summary>{html.escape(one_line(outcome.name))}</summary>"
            lines += ["", title, "", *_fence(outcome.output), "", "</details>"]
    return "\n".join(lines) + "\n"


def _fence(output: str) -> tuple[str, str, str]:
    text = harmless(output)
    fence = "`" * (max(map(len, re.findall("`+", text)), default=2) + 1)
    return fence, text, fence


def _cell(text: str) -> str:
    return harmless(" ".join(text.split())).replace("|", "\\|")


def github(report: PipelineReport) -> list[str]:
    """Write GitHub's workflow commands that annotate the line of each failure."""
    return [
        f"::error file={_property(report.pipeline.path)},line={outcome.line},"
        f"title={_property(outcome.name)}::{_escape(_describe(outcome))}"
        for outcome in report.outcomes
        if outcome.verdict is CaseStatus.FAILED
    ]


def _describe(outcome: Outcome) -> str:
    return "\n".join(filter(None, (outcome.reason, outcome.output)))


def _escape(text: str) -> str:
    return harmless(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")


def line(outcome: Outcome) -> str:
    """Write the line of a finished case."""
    reason = f": {outcome.reason}" if outcome.reason else ""
    return f"{mark(outcome):<8} {outcome.name} ({outcome.wall_s:.2f} s){reason}"


def mark(outcome: Outcome) -> str:
    mark = MARKS[outcome.verdict]
    return {"cache": "cached", "before": "before"}.get(outcome.source, mark)


def summary(report: PipelineReport) -> str:
    """Return a sentence: the passed, failed and skipped cases, and their isolation."""
    counts = ", ".join(
        f"{report.count(verdict)} {verdict.value}"
        for verdict in CaseStatus
        if report.count(verdict)
    )
    tier = f", sandbox tier {report.tier}" if report.tier else ""
    return f"{counts} in {report.wall_s:.2f} s{tier}."


def without_commands(text: str) -> str:
    """Write text of which GitHub runs no line as a command: an unknown token ends the pause."""
    token = secrets.token_hex(16)
    return f"::stop-commands::{token}\n{screen(text)}\n::{token}::"


def failures(report: PipelineReport) -> list[str]:
    """Write the output of the failed cases, each under its name."""
    return [
        f"── {outcome.name}: {outcome.reason}\n{outcome.output}"
        for outcome in report.outcomes
        if outcome.verdict is CaseStatus.FAILED
    ]


STYLES = {CaseStatus.PASSED: "green", CaseStatus.FAILED: "red", CaseStatus.SKIPPED: "yellow"}


@dataclass(slots=True)
class PipelineProgress:
    """The progress of all cases."""

    out: Console
    total: int  # the number of cases
    done: int = 0
    running: dict[str, float] = field(default_factory=dict)  # the start time of each

    def begin_case(self, name: str) -> None:
        """Record the start of a case."""
        self.running[name] = time.monotonic()

    def end_case(self, outcome: Outcome) -> None:
        """Show a finished or skipped case."""
        self.running.pop(outcome.name, None)
        self.done += 1
        text = Text(harmless(line(outcome)))
        text.stylize(STYLES[outcome.verdict], 0, len(mark(outcome)))
        self.out.print(text, soft_wrap=True)

    def __rich__(self) -> Text:
        now = time.monotonic()
        names = ", ".join(f"{name} {now - since:.0f} s" for name, since in self.running.items())
        return Text(f"{self.done} of {self.total} done; running: {names or '-'}", no_wrap=True)


@contextmanager
def progress(total: int) -> Iterator[PipelineProgress]:
    """Show the progress on stderr; running cases only on a terminal, until the end."""
    shown = PipelineProgress(Console(stderr=True, highlight=False), total)
    if not sys.stderr.isatty():
        yield shown
        return
    with Live(shown, console=shown.out, transient=True):
        yield shown
