"""What was refused: what the sandbox kept from programs, as the table of runs has it, and programs
that the rules did not let run, as the audit log has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ctxmode.insight.charts import build_bars
from ctxmode.insight.model import ROWS, Asked, Data, part
from ctxmode.insight.reading import Reader
from ctxmode.operations import audit
from ctxmode.operations.refused_runs import KeptRefusals, count_by_kind, list_refused
from executor.model import Refusal

RUNS_SHOWN = 25
ACTS_SHOWN = 100
ACT_FIELDS = ("kind", "target", "by", "certainty", "count", "remedy")
ALLOWED = ("allow", "ask, granted")


def build(reader: Reader, asked: Asked) -> Data:
    """Build the list of this project's refused programs, the latest first."""
    project, at = str(reader.config.project), asked.number("at")
    entries = reader.ask(lambda: list(audit.read(reader.config.log_dir))) or []
    refused = [one for one in entries if _is_refused(one, project)]
    refused.reverse()
    rules: dict[str, int] = {}
    for one in refused:
        for rule in _list_rules(one):
            rules[rule] = rules.get(rule, 0) + 1
    acts = reader.runs(lambda db: list_refused(db, limit=RUNS_SHOWN)) or []
    return part("/refusals", asked, [_build_row(one) for one in refused[at : at + ROWS + 1]]) | {
        "total": len(refused),
        "rules": build_bars(rules),
        "acts": [_build_act(run, refusal) for run in acts for refusal in run.refusals][:ACTS_SHOWN],
        "kinds": build_bars(reader.runs(count_by_kind) or {}),
    }


def _build_act(run: KeptRefusals, refusal: Refusal) -> Data:
    return {
        "run": run.number,
        "at": run.at,
        "language": run.language,
        "status": run.status,
    } | {name: getattr(refusal, name) for name in ACT_FIELDS}


def _is_refused(entry: Mapping[str, Any], project: str) -> bool:
    return entry.get("project") == project and entry.get("decision") not in ALLOWED


def _list_rules(entry: Mapping[str, Any]) -> list[str]:
    rules = entry.get("rules")
    return [str(rule) for rule in rules] if isinstance(rules, list) else []


def _build_row(entry: Mapping[str, Any]) -> Data:
    at = entry.get("time")
    texts = {key: str(entry.get(key, "")) for key in ("surface", "language", "decision", "excerpt")}
    return texts | {
        "at": at if isinstance(at, int | float) else None,
        "rules": ", ".join(_list_rules(entry)),
    }
