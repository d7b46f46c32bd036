"""The verb `ci`: run a pipeline of steps in the sandbox, with a report."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from io import BytesIO
from pathlib import Path

from base.secrets import redact
from ctxmode import exit_codes
from ctxmode.app import App
from ctxmode.config.locations import load_config
from ctxmode.config.settings import load_settings
from ctxmode.errors import ContextModeError, UsageError, why
from ctxmode.launch import print_json, with_app
from ctxmode.operations.output_folder import RefusedError, open_destination
from ctxmode.pipelines import reports
from ctxmode.pipelines.cache import CaseCache
from ctxmode.pipelines.model import Outcome, PipelineReport, cases_of, load, load_stdin
from ctxmode.pipelines.reports import progress
from ctxmode.pipelines.running import PipelineRun
from ctxmode.render.terminal_output import for_stdout


def run_verb(args: argparse.Namespace) -> int:
    """Run the pipeline. Errors have no secrets either, as CI logs show them."""
    try:
        return _run(args)
    except ContextModeError as error:
        error.message, error.hint = redact(error.message)[0], redact(error.hint)[0]
        raise


def _run(args: argparse.Namespace) -> int:
    if args.jobs is not None and not 1 <= args.jobs <= 64:
        raise UsageError(f"invalid --jobs {args.jobs}", "Use 1 to 64.")
    config = load_config(args.project)
    usual = load_settings(config.project, config.config_home).limits
    stdin = args.file == "-"
    pipeline = (load_stdin if stdin else partial(load, Path(args.file)))(config.project, usual)
    folder = Path(os.path.normpath(config.project / args.reports))
    if not folder.is_relative_to(config.project) or folder == config.project:
        raise UsageError(
            f"invalid --reports {args.reports!r}: not a folder below the project",
            "Name a folder below the project, such as .ctxmode-ci; steps read artifacts there.",
        )
    _prepare(folder, config.project)
    before = _read_earlier(folder) if args.rerun_failed else {}
    kept = config.state_dir / "ci"
    hidden = (config.data_dir, folder)  # these files change with every run
    cache = CaseCache(kept, config.project, hidden) if args.cache else None
    total = sum(len(cases_of(step)) for step in pipeline.steps)
    with progress(total) as shown:

        async def run(app: App) -> PipelineReport:
            under_way = PipelineRun(
                app,
                pipeline,
                folder / "artifacts",
                shown,
                jobs=args.jobs,
                cache=cache,
                before=before,
            )
            return await under_way.run()

        try:
            report = with_app(args, run)
        except KeyboardInterrupt:
            shown.out.print(f"interrupted: {shown.done} of {total} cases were done")
            raise
    _write(report, folder, config.project)
    _show(report, args)
    return exit_codes.OK if report.ok else exit_codes.ERROR


def _read_earlier(folder: Path) -> dict[str, Outcome]:
    """Read the outcomes of the folder's last run by case; raise UsageError if there is none."""
    try:
        cases = json.loads((folder / "report.json").read_bytes())["cases"]
        return {case["name"]: Outcome.from_json(case) for case in cases}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"no report of an earlier run in {folder}", "Run without --rerun-failed first."
        ) from error


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except RefusedError as error:
        raise ContextModeError(
            f"cannot write the report to {folder}: {error}",
            "Remove the file, or name another folder with --reports.",
        ) from error
    except OSError as error:
        raise ContextModeError(
            f"cannot write the report to {folder}: {why(error)}",
            "Free some space there, or name another folder with --reports.",
        ) from error


def _prepare(folder: Path, project: Path) -> None:
    """Create the report folder before the pipeline runs, so that errors appear early."""
    with _writing(folder):
        _put({".gitignore": "*\n"}, folder, project)


def _write(report: PipelineReport, folder: Path, project: Path) -> None:
    texts = {
        "report.json": json.dumps(report.to_json(), indent=2) + "\n",
        "report.md": reports.markdown(report),
        "junit.xml": reports.junit(report),
    }
    with _writing(folder):
        _put(texts, folder, project)


def _put(texts: Mapping[str, str], folder: Path, project: Path) -> None:
    with open_destination(folder, project) as destination:
        for name, text in texts.items():
            destination.replace(name, BytesIO(text.encode()))


def _show(report: PipelineReport, args: argparse.Namespace) -> None:
    is_github = args.github or os.environ.get("GITHUB_ACTIONS") == "true"
    if is_github:
        # GitHub reads both streams, and stdout may be parsed as JSON.
        to = sys.stderr if args.json else sys.stdout
        to.write("".join(f"{line}\n" for line in reports.github(report)))
        _summarize(report)
    if args.json:
        print_json(report.to_json())
        return
    for text in reports.failures(report):
        shown = reports.without_commands(text) if is_github else for_stdout(text)
        sys.stdout.write(f"\n{shown}\n")
    sys.stdout.write(f"\n{reports.summary(report)}\n")
    sys.stdout.write(f"Reports: {args.reports}/report.md, report.json, junit.xml, artifacts/\n")


def _summarize(report: PipelineReport) -> None:
    """Add the report to GitHub's page of the job."""
    page = os.environ.get("GITHUB_STEP_SUMMARY")
    if not page:
        return
    try:
        with Path(page).open("a", encoding="utf-8") as file:
            file.write(reports.markdown(report))
    except OSError as error:
        sys.stderr.write(f"context-mode: no summary in {page}: {why(error)}\n")
