"""Running of pipelines: cases run in parallel as soon as their needs have passed."""

from __future__ import annotations

import fnmatch
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import trio

from base.secrets import redact
from ctxmode import __version__
from ctxmode.app import App
from ctxmode.config.engine_settings import load_profiles
from ctxmode.config.rules import load as load_rules
from ctxmode.errors import ContextModeError, translate_errors
from ctxmode.operations.output_folder import RefusedError, deliver, remove_folder
from ctxmode.pipelines.cache import CaseCache
from ctxmode.pipelines.model import (
    CaseStatus,
    Outcome,
    Pipeline,
    PipelineCase,
    PipelineReport,
    PipelineStep,
    cases_of,
)
from ctxmode.pipelines.reports import PipelineProgress
from ctxmode.render.results import ending, refusal_text
from executor import Caller, ProjectAccess, Request, Status
from executor.run import Answer, safe_name
from policy import find_hidden_paths

LINES_SHOWN = 30
ARTIFACTS_VARIABLE = "CI_ARTIFACTS"
# Skipping such a step would omit its writes.
CHANGES_PROJECT = (ProjectAccess.COMMIT, ProjectAccess.LIVE)


class PipelineRun:
    """A running pipeline with its artifact folder and the known outcomes of its cases.

    Up to `jobs` cases run at once; None means the limit of other machines, or one per processor.
    """

    def __init__(  # noqa: PLR0913 - these are a run's options
        self,
        app: App,
        pipeline: Pipeline,
        artifacts: Path,
        shown: PipelineProgress,
        *,
        jobs: int | None,
        cache: CaseCache | None,
        before: Mapping[str, Outcome],
    ) -> None:
        self._app = app
        self._pipeline = pipeline
        self._artifacts = artifacts
        self._shown = shown
        self._cache = cache
        self._before = before
        self._slots = trio.CapacityLimiter(jobs or app.at_once or os.cpu_count() or 1)
        self._done = {step.name: trio.Event() for step in pipeline.steps}
        self.outcomes: dict[str, list[Outcome]] = {}

    async def run(self) -> PipelineReport:
        """Run all cases of all steps in the order of their needs. If a case is invalid, raise
        UsageError and run none."""
        pipeline = self._pipeline
        for case in (case for step in pipeline.steps for case in cases_of(step)):
            where = f"{pipeline.path}:{case.step.line}: {case.name}"
            await self._app.check(request_of(case, self._artifacts), where)
        started = time.monotonic()
        async with trio.open_nursery() as nursery:
            for step in pipeline.steps:
                nursery.start_soon(self.step, step)
        outcomes = tuple(o for step in pipeline.steps for o in self.outcomes[step.name])
        tier = next((outcome.tier for outcome in outcomes if outcome.tier), "")
        shown = replace(pipeline, name=redact(pipeline.name)[0], path=redact(pipeline.path)[0])
        return PipelineReport(shown, outcomes, time.monotonic() - started, tier)

    async def step(self, step: PipelineStep) -> None:
        """Run all cases of one step after its needs are done."""
        for need in step.needs:
            await self._done[need].wait()
        failed = [
            need
            for need in step.needs
            if any(o.verdict is not CaseStatus.PASSED for o in self.outcomes[need])
        ]
        cases = cases_of(step)
        found: dict[int, Outcome] = {}

        async def one(number: int, case: PipelineCase) -> None:
            found[number] = _redact_outcome(await self._case(case, failed))
            self._shown.end_case(found[number])

        async with trio.open_nursery() as nursery:
            for number, case in enumerate(cases):
                nursery.start_soon(one, number, case)
        self.outcomes[step.name] = [found[number] for number in range(len(cases))]
        self._done[step.name].set()

    async def _case(self, case: PipelineCase, failed: list[str]) -> Outcome:
        step = case.step
        if failed:
            reason = f"it needs {', '.join(failed)}"
            return Outcome(case.name, step.name, step.line, CaseStatus.SKIPPED, reason)
        earlier = self._before.get(case.name)
        if earlier is not None and earlier.verdict is CaseStatus.PASSED:
            return replace(earlier, source="before", line=step.line)
        folder = self._artifacts / safe_name(case.name)
        async with self._slots:
            cache = self._cache
            if cache is None or (key := await self._key(cache, case)) is None:
                return await self._run(case, folder)
            kept = await trio.to_thread.run_sync(cache.load, key, folder)
            if kept is not None:
                return replace(kept, name=case.name, step=step.name, line=step.line)
            outcome = await self._run(case, folder)
            # If the project changed during the run, the step's inputs are unknown.
            if await self._key(cache, case) == key:
                await trio.to_thread.run_sync(cache.store, key, outcome, folder)
            return outcome

    async def _key(self, cache: CaseCache, case: PipelineCase) -> str | None:
        """Compute the key of a case; None if the case must always run."""
        step, config = case.step, self._app.config
        profiles = load_profiles(config.project, config.config_home)[0]
        profile = profiles[step.profile]
        reads_more = profile.network.is_open or profile.read or profile.sockets
        if profile.project in CHANGES_PROJECT or (not step.inputs and reads_more):
            return None
        needed = [o for need in step.needs for o in self.outcomes[need]]
        passed = {name: os.environ.get(name) for name in profile.env}
        try:
            rules = await trio.to_thread.run_sync(load_rules, config.project, config.home)
            toolchain = await self._app.toolchain(step.language)
            terms = [__version__, self._app.tier, toolchain, profile, passed, rules.rules]
            terms.append(rules.default)
            if step.packages:
                request = request_of(case, self._artifacts)
                lock = await self._app.packages(request, Caller(), fetch=False)
                terms.append((lock.ecosystem, lock.files))
            denied = find_hidden_paths(rules, [str(config.project)])
            with translate_errors():
                return await trio.to_thread.run_sync(cache.key, case, terms, needed, denied)
        except (ContextModeError, OSError):
            return None

    async def _run(self, case: PipelineCase, folder: Path) -> Outcome:
        self._shown.begin_case(redact(case.name)[0])
        outcome = Outcome(case.name, case.step.name, case.step.line, CaseStatus.FAILED)
        project = self._app.config.project
        try:
            await trio.to_thread.run_sync(remove_folder, folder, project)
            answer = await self._app.execute(request_of(case, self._artifacts), name=case.name)
            answer = await trio.to_thread.run_sync(deliver, answer, folder, project)
        except (ContextModeError, RefusedError, OSError) as error:
            return replace(outcome, reason=str(error))
        return _judge(case, answer, outcome)


def request_of(case: PipelineCase, artifacts: Path) -> Request:
    """Build the request of one case; the files of its needs are in `artifacts`."""
    step = case.step
    env = {name: case.fill(text) for name, text in step.env.items()}
    env |= {f"MATRIX_{key.upper()}": str(value) for key, value in case.values.items()}
    if step.needs:
        env[ARTIFACTS_VARIABLE] = str(artifacts)
    return Request(
        step.language,
        code=None if step.code is None else case.fill(step.code),
        path=step.script,
        args=tuple(map(case.fill, step.args)),
        env=env,
        artifacts=tuple(map(case.fill, step.artifacts)),
        timeout_s=step.timeout_s,
        limits=step.limits,
        packages=step.packages,
        profile=step.profile,
    )


def _judge(case: PipelineCase, answer: Answer, outcome: Outcome) -> Outcome:
    result = answer.result
    ended = result.status in (Status.OK, Status.NONZERO_EXIT)
    handed = [a.name for a in result.artifacts if a.path is not None]
    missing = [f"{a.name} ({a.reason})" for a in result.artifacts if a.path is None]
    missing += [p for p in map(case.fill, case.step.artifacts) if not _is_found(p, handed)]
    passed = ended and result.exit_code in case.step.expect_exit and not missing
    expected = " or ".join(map(str, case.step.expect_exit))
    reason = ""
    if result.status in (Status.DENIED, Status.REDIRECTED):
        reason = refusal_text(result)
    elif not passed:
        reason = ending(result)
        if ended and result.exit_code not in case.step.expect_exit:
            reason += f"; expected exit {expected}"
        if missing:
            reason += f"; not returned: {', '.join(missing)}"
    return replace(
        outcome,
        verdict=CaseStatus.PASSED if passed else CaseStatus.FAILED,
        reason=reason,
        exit_code=result.exit_code,
        wall_s=round(result.usage.wall_s, 3),
        # Redact before cutting: the end of a secret of several lines is not recognised.
        output=cut_output(redact(result.stdout.text)[0], redact(result.stderr.text)[0]),
        tier=result.isolation.tier,
        artifacts=tuple(a.path for a in result.artifacts if a.path is not None),
    )


def _redact_outcome(outcome: Outcome) -> Outcome:
    """Return an outcome without secrets. Earlier versions may have stored secrets."""
    texts = {name: redact(getattr(outcome, name))[0] for name in ("name", "reason", "output")}
    return replace(outcome, **texts, step=redact(outcome.step)[0])


def _is_found(pattern: str, names: Sequence[str]) -> bool:
    """Return whether a pattern of artifacts matches a name."""
    forms = (pattern, pattern.removeprefix("**/"))
    return any(fnmatch.fnmatchcase(name, form) for name in names for form in forms)


def cut_output(stdout: str, stderr: str) -> str:
    """Return the last lines of stderr, if there are any, and of stdout."""
    error, out = stderr.strip("\n").splitlines(), stdout.strip("\n").splitlines()
    room = LINES_SHOWN - min(len(error), LINES_SHOWN)
    lines = [*(out[-room:] if room else []), *error[-LINES_SHOWN:]]
    return "\n".join(lines)
