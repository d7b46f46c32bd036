"""Where the records of tools' outputs begin: test runners, compilers, stacks, packages, traces.

Patterns are for lines without colours and times, end a repetition at the line's end, and have no
two ways to match the same text. Those that are likelier, or hold more lines, come first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kb.chunks import CAP_BYTES, Mark
from kb.decoding import Plain

OWN_MAX = 500  # what failed and what sums up is a chunk, which a search tells by its title
"""How many records of a source, or of a part of one, get chunks of their own, however small. Where
there are more, the others share chunks, as a small chunk costs many times its text."""

_NAME = re.compile(rb"\(\?P<\w+>")
_TITLE_CHARS = 160
_SUMMED = ("many", "total")
"""By these a summary is found, too: questions of how many there are say them, summaries do not."""
_RULES = "=-#+ ✖ℹ"  # noqa: RUF001 - a sign that node prints


@dataclass(frozen=True, slots=True)
class Record:
    """Where a record begins, as a pattern for the start of a line and what follows.

    `title` is made of the pattern's named groups, and `under` is the one that names what it belongs
    to, which alone it shares a chunk with. `about` are patterns whose first groups, found in the
    record, say more. A record `alone` joins no neighbour. One that `ends` with its pattern's last
    line leaves what follows to no record.
    """

    begins: bytes
    title: str
    about: tuple[bytes, ...] = ()
    under: str | None = None
    alone: bool = False
    whole: bool = True
    ends: bool = False


def failure(begins: bytes, title: str, *about: bytes) -> Record:
    """A record of something that failed."""
    return Record(begins, title, about, alone=True)


def summary(*lines: bytes) -> Record:
    """Lines that sum up what was done, whichever of these they look like."""
    return Record(rb"(?P<text>" + b"|".join(lines) + rb")", "{text}", alone=True, ends=True)


class Records:
    """A kind's records, in the order in which their patterns are tried."""

    def __init__(self, rows: Sequence[Record]) -> None:
        self._rows = rows
        numbered = (
            rb"(?P<r%d>%b)" % (at, _NAME.sub(rb"(?:", row.begins)) for at, row in enumerate(rows)
        )
        self._any = re.compile(rb"^(?:" + b"|".join(numbered) + rb")", re.MULTILINE)
        self._own = [re.compile(row.begins, re.MULTILINE) for row in rows]
        self._about = [[re.compile(b, re.MULTILINE) for b in row.about] for row in rows]

    def marks(self, data: bytes, language: str | None = None) -> Iterator[Mark]:
        """A mark where a record begins, and one behind a record that ends."""
        plain = Plain(data)
        own = 0
        found = self._any.search(plain.text)
        while found is not None:
            following = self._any.search(plain.text, max(found.end(), found.start() + 1))
            at = int((found.lastgroup or "r0")[1:])
            row = self._rows[at]
            own += row.alone or row.under is not None
            end = len(plain.text) if following is None else following.start()
            yield Mark(
                plain.place(found.start()),
                self._title(at, plain.text[found.start() : end], nested=own <= OWN_MAX),
                whole=row.whole,
                identifiers=_SUMMED if row.ends else (),
                alone=row.alone and own <= OWN_MAX,
            )
            if row.ends:
                line_end = plain.text.find(b"\n", max(found.end() - 1, found.start())) + 1
                if 0 < line_end < end:
                    yield Mark(plain.place(line_end))
            found = following

    def _title(self, at: int, text: bytes, *, nested: bool) -> tuple[str, ...]:
        row, own = self._rows[at], self._own[at].match(text)
        assert own is not None
        words = {name: _words(value or b"") for name, value in own.groupdict().items()}
        title = _words(row.title.format(**words).encode())
        for about in self._about[at]:
            if found := about.search(text, 0, CAP_BYTES):
                title = f"{title}: {_words(found[1])}"
        if row.ends:
            return "summary", title.strip(_RULES)
        return (words[row.under], title) if row.under and nested else (title,)


def _words(raw: bytes) -> str:
    text = " ".join(raw[: 4 * _TITLE_CHARS].decode("utf-8", "replace").split())
    return text if len(text) <= _TITLE_CHARS else text[: _TITLE_CHARS - 1] + "…"


_BUILDS = (
    rb"BUILD (?:SUCCESS|FAIL)\w*\b[^\n]{0,100}",
    rb"\[INFO\] BUILD (?:SUCCESS|FAILURE)",
    rb"(?:\[\w+\] )?Tests run: \d+, [^\n]{1,200}",
)

_FAILURES = rb"(?:={3,400} (?:FAILURES|ERRORS) ={3,400}\n)?"
_PYTEST_ABOUT = (rb"^E +(\S[^\n]*)", rb"^([^\s:]{1,200}:\d+): \w")

TESTS = Records((
    # pytest
    summary(
        rb"={3,400} (?:no tests ran|\d+ (?:passed|failed|error|skipped|deselected|x\w+|warning))"
        rb"[^\n]{0,200}",
        rb"\d+ (?:passed|failed|errors?|skipped|deselected|xfailed|xpassed|warnings?)(?:, | in )"
        rb"[^\n]{0,200}",
        rb"no tests ran in [^\n]{1,40}",
        # unittest
        rb"-{70}\nRan \d+ tests?[^\n]{0,40}\n{0,3}(?:OK|FAILED|NO TESTS RAN)?[^\n]{0,100}",
        # cargo, jest and vitest, mocha, node, TAP, rspec, phpunit, dotnet, builds
        rb"test result: [^\n]{1,200}",
        rb"Test Suites: [^\n]{1,200}(?:\n(?:Tests|Snapshots|Time): [^\n]{1,200}){0,4}",
        rb" *Test Files  [^\n]{1,200}(?:\n +(?:Tests|Start at|Duration|Type Errors|Errors)  "
        rb"[^\n]{1,200}){0,5}",
        rb" {0,4}\d+ passing \([^\n]{1,40}(?:\n {0,4}\d+ (?:pending|failing))*",
        rb"\xe2\x84\xb9 tests \d+(?:\n\xe2\x84\xb9 [^\n]{1,60})*",
        rb"# tests \d+(?:\n# \w+ [\d.]+)*",
        rb"\d+ (?:examples?|runs|scenarios?|tests?), \d+ (?:failures?|assertions|passed)[^\n]*",
        rb"OK \(\d+ tests?, [^\n]{1,60}",
        rb"Tests: +\d+, Assertions[^\n]{1,100}",
        rb"(?:Passed|Failed)! +- +Failed: [^\n]{1,200}",
        *_BUILDS,
    ),
    failure(
        _FAILURES + rb"_{2,400} (?P<test>(?!ERROR )[^\n]{1,200}?) _{2,400}$",
        "FAILED {test}",
        *_PYTEST_ABOUT,
    ),
    failure(
        _FAILURES + rb"_{2,400} (?P<test>ERROR [^\n]{1,200}?) _{2,400}$", "{test}", *_PYTEST_ABOUT
    ),
    Record(
        rb"(?P<result>FAILED|ERROR|XFAIL|XPASS|SKIPPED) "
        rb"(?P<test>[^\n]{0,200}(?:::|\.py)[^\n]{1,200})",
        "{result} {test}",
    ),
    Record(
        rb"(?:\[gw\d+\] \[ *\d+%\] )(?P<result>[A-Z]{4,7}) (?P<test>[^\n]{1,200})",
        "{result} {test}", whole=False,
    ),
    Record(
        rb"(?P<test>[^\s:]{1,200}::\S[^\n]{0,200}?) {1,80}"
        rb"(?P<result>PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)",
        "{result} {test}", whole=False,
    ),
    Record(rb"={3,400} (?P<section>short test [^\n=]{1,200}?) ={3,400}$", "{section}"),
    Record(
        rb"={3,400} (?P<section>[^\n=]{1,200}?) ={3,400}$", "{section}", whole=False,
    ),
    # unittest
    failure(
        rb"={70}\nFAIL: (?P<test>[^\n]{1,200})", "FAILED {test}",
        rb"^((?:[\w.]+(?:Error|Exception|Failure|Exit|Interrupt))\b[^\n]*)",
    ),
    failure(
        rb"={70}\nERROR: (?P<test>[^\n]{1,200})", "ERROR {test}",
        rb"^((?:[\w.]+(?:Error|Exception|Failure|Exit|Interrupt))\b[^\n]*)",
    ),
    Record(
        rb"(?P<test>\w{1,150}) \((?P<of>[\w.]{1,200})\) \.\.\. (?P<result>[^\n]{1,60})",
        "{result} {test} ({of})", whole=False,
    ),
    # go
    failure(
        rb"=== RUN +(?P<test>\S{1,200})\n(?:(?!=== |--- )[^\n]*\n){0,200}?--- FAIL: [^\n]*",
        "FAILED {test}", rb"^ +(\S[^\n]*)",
    ),
    Record(
        rb"=== RUN +(?P<test>\S{1,200})\n--- (?P<result>PASS|SKIP): [^\n]*",
        "{result} {test}", whole=False,
    ),
    Record(rb"=== RUN +(?P<test>\S{1,200})", "RUN {test}", whole=False),
    failure(rb"[ \t]{0,12}--- FAIL: (?P<test>\S{1,200})", "FAILED {test}", rb"^ +(\S[^\n]*)"),
    Record(
        rb"[ \t]{0,12}--- (?P<result>PASS|SKIP|BENCH): (?P<test>\S{1,200})",
        "{result} {test}", whole=False,
    ),
    failure(rb"FAIL\t(?P<package>\S{1,200})", "FAILED {package}"),
    Record(rb"(?:ok  |\?   )\t(?P<package>\S{1,200})", "ok {package}", whole=False),
    # cargo
    Record(
        rb"test (?P<test>\S{1,200}) \.\.\. (?P<result>\w+)", "{result} {test}", whole=False
    ),
    failure(
        rb"---- (?P<test>[^\n]{1,200}?)(?: std(?:out|err))? ----$", "FAILED {test}",
        rb"(panicked at [^\n]*\n[^\n]*)",
    ),
    # jest, vitest, mocha, node
    Record(
        rb" {0,2}(?P<result>FAIL|PASS) +(?P<file>\S[^\n]{0,200})", "{result} {file}", whole=False
    ),
    failure(
        rb"[ \t]{0,4}\xe2\x97\x8f (?P<test>[^\n]{1,200})", "FAILED {test}",
        rb"^ *((?:expect\(|\w*Error\b|Expected)[^\n]*)",
    ),
    failure(
        rb" {2}\d+\) (?P<suite>[^\n]{1,200})\n(?P<test> {5,}\S[^\n]{0,200}(?:\n {5,}\S[^\n]{0,200})"
        rb"{0,8}):$",
        "FAILED {suite} {test}", rb"^ *((?:\w*Error\b)[^\n]*)",
    ),
    failure(
        rb"test at (?P<where>[^\n]{1,200})\n\xe2\x9c\x96 (?P<test>[^\n]{1,200})",
        "FAILED {test} ({where})", rb"^ *((?:\w*Error\b)[^\n]*)",
    ),
    Record(
        rb" {0,40}(?:\xe2\x9c\x95|\xe2\x9c\x96|\xe2\x9c\x97|\xc3\x97|\d+\)) (?P<test>[^\n]{1,200})",
        "FAILED {test}", whole=False,
    ),
    Record(
        rb" {0,40}(?:\xe2\x9c\x93|\xe2\x9c\x94|\xe2\x88\x9a) (?P<test>[^\n]{1,200})",
        "ok {test}", whole=False,
    ),
    # TAP, JUnit's XML
    failure(
        rb"(?: {0,40}# Subtest: [^\n]*\n)? {0,40}(?P<test>not ok \d+[^\n]{0,200})",
        "{test}", rb"^ +(?:error|message): (?:[|>]-?\n)? *([^\n]*)",
    ),
    Record(
        rb"(?: {0,40}# Subtest: [^\n]*\n)? {0,40}(?P<test>ok \d+[^\n]{0,200})",
        "{test}", whole=False,
    ),
    Record(rb"(?P<test><test(?:case|suite)\b[^\n>]{0,200})", "{test}"),
))  # fmt: skip

_LEVELS = ((rb"(?:fatal )?error", True), (rb"warning", False))
"""What a compiler says, and whether it is kept whole: so errors and warnings share no chunk."""

COMPILER = Records((
    summary(
        rb"Found \d+ errors?\b[^\n]{0,100}",
        rb"(?:\xe2\x9c\x96 )?\d+ (?:problems?|errors?|warnings?)"
        rb"(?:$| and \d| generated| \()[^\n]{0,100}",
        rb"error: (?:could not compile|aborting due to)[^\n]{1,200}",
        rb"warning: `[^`\n]{1,100}` \([^\n]{1,40}\) generated [^\n]{1,100}",
        rb"Success: no issues found[^\n]{0,60}|All checks passed!",
        rb" {1,8}Finished [^\n]{1,200}",
        rb"Your code has been rated at [^\n]{1,80}",
        *_BUILDS,
    ),
    *(
        Record(
            rb"(?:[^\s:][^:\n]{0,200}: (?:In|At) [^\n]{1,200}:\n)?(?P<file>[^\s:][^:\n]{0,200}):"
            rb"(?P<line>\d+(?::\d+)?):? (?:- )?(?P<level>%b)\b:?(?P<message>[^\n]{0,200})" % level,
            "{level}: {file}:{line}: {message}", under="file", whole=whole,
        )
        for level, whole in _LEVELS
    ),
    *(
        Record(
            rb"(?P<file>[^\s(][^(\n]{0,200})(?P<line>\(\d+(?:,\d+)?\)): ?(?P<level>%b)\b"
            rb"(?P<message>[^\n]{0,200})" % level,
            "{level}: {file}{line}: {message}", under="file", whole=whole,
        )
        for level, whole in _LEVELS
    ),
    *(
        Record(
            rb"(?P<message>%b(?:\[\w+\])?: [^\n]{1,200})\n *--> "
            rb"(?P<file>[^:\n]{1,200})(?P<line>[^\n]*)"
            % level, "{message} ({file}{line})", under="file", whole=whole,
        )
        for level, whole in _LEVELS
    ),
    Record(rb"(?P<message>(?:error|warning)(?:\[\w+\])?: [^\n]{1,200})", "{message}"),
    Record(
        rb"(?P<code>[A-Z]{1,5}\d{2,5} [^\n]{1,200})\n *--> (?P<file>[^:\n]{1,200})(?P<line>[^\n]*)",
        "{file}{line}: {code}", under="file",
    ),
    Record(
        rb"(?P<file>[^\s:][^:\n]{0,200}\.\w{1,5}):(?P<line>\d+:\d+): (?!note\b|info\b)"
        rb"(?P<message>[^\n]{1,200})",
        "{file}:{line}: {message}", under="file",
    ),
    Record(
        rb"(?P<where>[^\s:][^\n:]{0,300})\n(?= {1,8}\d+:\d+ +(?:error|warning)\b)", "{where}",
        (rb"^ +\d+:\d+ +((?:error|warning) [^\n]*)",),
    ),
    Record(
        rb"\[(?P<level>ERROR|WARNING)\] (?P<file>[^\n]{1,200}):(?P<line>\[\d+,\d+\]) "
        rb"(?P<message>[^\n]{1,200})",
        "{level}: {file}:{line}: {message}", under="file",
    ),
    failure(rb"(?P<line>make(?:\[\d+\])?: \*\*\*[^\n]{0,200})", "{line}"),
    Record(rb"(?P<line>(?:[^\s:]{1,200}/)?(?:ld|collect2)(?:\.\w+)?: [^\n]{1,200})", "{line}"),
    Record(rb"(?P<line>> Task :[^\n]{1,200})", "{line}", whole=False),
    Record(
        rb" {1,12}(?P<line>(?:Compiling|Checking|Running|Downloaded|Building) [^\n]{1,100})",
        "{line}", whole=False,
    ),
))  # fmt: skip

STACKS = Records((
    Record(rb"(?P<line>goroutine \d+ \[[^\n]{1,100}\]:)", "{line}"),
    Record(rb"(?P<line>\"[^\"\n]{1,100}\" (?:#\d+|prio|daemon|tid)[^\n]{0,100})", "{line}"),
    Record(rb"(?P<line>Thread \d+ \([^\n]{1,150}\):?)", "{line}"),
    Record(rb"(?P<line>(?:Current t|T)hread 0x[0-9a-f]+[^\n]{0,100})", "{line}"),
    Record(rb"(?P<line>Traceback \(most recent call last\):)", "{line}",
           (rb"^(\w[\w.]*(?:Error|Exception|Exit|Interrupt|Warning)\b[^\n]*)",)),
    Record(
        rb"(?P<line>(?:panic|thread '[^'\n]{1,60}' (?:\(\d+\) )?panicked)[^\n]{0,150})", "{line}"
    ),
    Record(
        rb"(?P<line>Exception in thread \"[^\"\n]{1,100}\" [^\n]{1,150}"
        rb"|(?:Uncaught )?[\w.$]{0,150}(?:Exception|Error)\b[^\n]{0,150}(?=\n[ \t]+at ))", "{line}"
    ),
))  # fmt: skip

PACKAGES = Records((
    summary(
        rb"(?:added|removed|changed|audited) \d+ packages?[^\n]{0,100}|up to date[^\n]{0,100}",
        rb"(?:found )?\d+ (?:\w+ severity )?vulnerabilit(?:y|ies)[^\n]{0,100}",
        rb"(?:Successfully installed|Would install|Successfully built) [^\n]{1,400}",
        rb"\d+ (?:packages )?upgraded, \d+ newly installed[^\n]{0,100}",
        rb"\d+ packages? can be upgraded[^\n]{0,100}|All packages are up to date\.",
        rb"Done in \d[^\n]{0,40}",
    ),
    failure(
        rb"npm (?:ERR!|error) (?P<what>[^\n]{0,200})(?:\nnpm (?:ERR!|error)[^\n]*){0,200}",
        "npm error {what}",
    ),
    Record(rb"npm (?:WARN|warn) (?P<what>[^\n]{1,200})", "npm warn {what}", whole=False),
    Record(
        rb"(?P<package>[\w@/.-]{1,100})  [^\n]{1,100}\nSeverity: (?P<severity>\w+)",
        "{package}: severity {severity}",
    ),
    failure(rb"(?P<line>(?:E|ERROR|error): [^\n]{1,200})", "{line}"),
    Record(rb"(?P<line>(?:W|WARNING|warning): [^\n]{1,200})", "{line}", whole=False),
    Record(
        rb"(?P<line>(?:The following [^\n]{1,150}|(?:Suggested|Recommended) packages):)$", "{line}"
    ),
    Record(
        rb"(?P<line>(?:Inst|Conf|Remv|Unpacking|Setting up|Removing|Selecting previously unselected"
        rb" package|Collecting|Processing|Requirement already satisfied:|Building wheel for) "
        rb"[^\s(]{1,150})",
        "{line}", whole=False,
    ),
    Record(
        rb"(?P<line>(?:Get|Hit|Ign|Err):\d+ [^\n]{1,150})", "{line}", whole=False
    ),
))  # fmt: skip

TRACE = Records((
    summary(
        rb"(?:\[pid +\d+\] |\d+ +)?\+\+\+ (?:exited|killed) [^\n]{1,100}",
    ),
    Record(
        rb"(?:\[pid +\d+\] |\d+ +)?(?P<call>\w{1,40}\([^\n\"]{0,80}(?:\"[^\"\n]{0,150}\")?)[^\n]*?"
        rb"(?: = -1 (?P<error>E\w+)[^\n]*)?$",
        "{error} {call}", whole=False,
    ),
    Record(rb"(?:\[pid +\d+\] |\d+ +)?(?P<signal>--- SIG[^\n]{1,100})", "{signal}"),
))  # fmt: skip

PLAN = Records((
    summary(
        rb"(?:Plan: \d|Apply complete!|Destroy complete!|No changes\.)[^\n]{0,100}",
    ),
    failure(
        rb"(?:\xe2\x95\xb7\n)?(?:\xe2\x94\x82 )?(?P<line>(?:Error|Warning): [^\n]{1,200})", "{line}"
    ),
    Record(
        rb" {2}# (?P<what>\S{1,200} (?:will be|must be|has |is tainted|\(depos)[^\n]{0,100})",
        "{what}",
    ),
    Record(
        rb"(?P<what>[\w.\[\]\"-]{1,150}: (?:Creat|Destroy|Modif|Refresh|Read|Still)[^\n]{1,100})",
        "{what}", whole=False,
    ),
))  # fmt: skip
