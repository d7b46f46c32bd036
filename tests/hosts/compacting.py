"""How each driven host is brought to compact its conversation, one row each.

Seen with the versions of the catalog. Where a text of a hook comes back:

- Claude Code, Codex: SessionStart with source `compact`, in the first request after it.
- Qwen Code: the same event, which it does not wait for, so in the second request.
- OpenCode: what `experimental.session.compacting` puts into `output.context` is in the request for
  the summary alone; `experimental.chat.system.transform` is in every request.
- Gemini CLI: it compacts once a prompt is sent, after BeforeAgent, by its own estimate of a resumed
  history. PreCompress rings before every request, whether it compacts or not.
- Copilot CLI: beside its turn; PreCompact rings, and nothing after it.

OpenCode is left out: its database is not read yet. Copilot CLI takes a text only with the prompt
after, and compacts beside its turn, which a run of one prompt ends before.
Cline 3.0.65 could not be brought to it: told of 119,000 and of 900,000 tokens, it went on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tests.hosts.catalog import BY_NAME, PROMPT, DrivenHost, Run


@dataclass(frozen=True, slots=True)
class Compacting:
    """One host. `full` is a count of tokens by which it finds its context full. `again` are words
    that go on with its last session, for one that compacts only then, or takes a
    text only with a prompt."""

    host: DrivenHost
    full: int
    again: Sequence[str] = ()


def _with(name: str, cue: str, **variables: str) -> DrivenHost:
    """A host whose requests for a summary have a cue, with more variables."""
    host = BY_NAME[name]

    def environment(run: Run) -> Mapping[str, str]:
        return {**host.environment(run), **variables}

    return replace(host, summary_cue=cue, environment=environment)


def _codex() -> DrivenHost:
    host = _with("codex", "CONTEXT CHECKPOINT COMPACTION")

    def files(run: Run) -> Mapping[str, str]:
        limit = "model_auto_compact_token_limit = 90000\n"
        return {name: limit + text for name, text in host.files(run).items()}

    return replace(host, files=files)


def _set(host: DrivenHost, path: str, **settings: object) -> DrivenHost:
    """A host with more settings in its file of JSON."""

    def files(run: Run) -> Mapping[str, str]:
        written = dict(host.files(run))
        written[path] = json.dumps({**json.loads(written[path]), **settings}, indent=2) + "\n"
        return written

    return replace(host, files=files)


COMPACTING = (
    Compacting(
        _with("claude-code", "create a detailed summary", CLAUDE_CODE_AUTO_COMPACT_WINDOW="100000"),
        99_000,
    ),
    Compacting(_codex(), 99_000),
    Compacting(
        _set(
            _with("qwen-code", "produce the <state_snapshot> XML"),
            ".qwen/settings.json",
            context={"autoCompactThreshold": 0.5},
        ),
        120_000,
    ),
    Compacting(
        _set(
            _with("gemini-cli", "component responsible for distilling chat history"),
            ".gemini/settings.json",
            model={"compressionThreshold": 0.002},
        ),
        0,
        ("--yolo", "--model", "gemini-2.5-flash", "--resume", "latest", "--prompt", PROMPT),
    ),
    Compacting(_with("opencode", "anchored summary"), 199_000),
)
