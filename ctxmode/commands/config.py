"""The verb `doctor config`: show settings and their origin, or create a file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from ctxmode.config.engine_settings import load_names, load_packages, load_profiles
from ctxmode.config.files import PROJECT_FILE, USER_FILE, read_config_file
from ctxmode.config.locations import Config
from ctxmode.config.settings import SETTINGS, load_settings
from ctxmode.config.transcripts import load_prices, load_recording, read_choices
from ctxmode.errors import ContextModeError, UsageError, why
from ctxmode.launch import print_text
from ctxmode.operations.operation import Answer, Arg, Asker, Operation
from ctxmode.render.highlight import one_line

SCHEMA = Path(__file__).parents[1] / "config.schema.json"


def show_settings(asker: Asker) -> Answer:
    """Show settings with value and origin."""
    shown = describe_config(asker.config)
    return Answer(shown, show=partial(_show, shown))


def create_file(
    asker: Asker, *, in_project: Annotated[bool, Arg("write the project's file")] = False
) -> Answer:
    """Create a file with every setting as a comment."""
    config = asker.config
    path = config.project / PROJECT_FILE if in_project else config.config_home / USER_FILE
    write_template(path, for_project=in_project)
    return Answer({"path": str(path)}, f"wrote {path}")


def show_schema(asker: Asker) -> Answer:
    """Print the JSON schema of the files."""
    del asker
    return Answer({}, show=lambda: print_text(SCHEMA.read_text("utf-8").removesuffix("\n")))


OPERATIONS: dict[str, Operation] = {
    "show": show_settings,
    "init": create_file,
    "schema": show_schema,
}
DEFAULT_ACTION = "show"


def describe_config(config: Config) -> dict[str, Any]:
    """Return settings with value and origin, folders, profiles, and rejected settings."""
    configured = load_settings(config.project, config.config_home)
    profiles, profile_warnings = load_profiles(config.project, config.config_home)
    _, move_warnings = load_names(config.project, config.config_home)
    _, price_warnings = load_prices(config.project, config.config_home)
    recording = load_recording(str(config.project), str(config.config_home), os.environ)
    return {
        "project": str(config.project),
        "storage": str(config.data_dir),
        "files": [
            {"path": str(path), "exists": path.exists()}
            for path in (config.config_home / USER_FILE, config.project / PROJECT_FILE)
        ],
        "settings": [
            {
                "key": setting.key,
                "value": configured.values[setting.key],
                "origin": configured.origins[setting.key],
                "variable": setting.variable,
            }
            for setting in SETTINGS
        ],
        "sources": [
            {"agent": agent, **choice._asdict()} for agent, choice in recording.sources.items()
        ],
        "profiles": list(profiles),
        "warnings": [
            *configured.warnings,
            *_warn_of_sources(config),
            *profile_warnings,
            *move_warnings,
            *load_packages(config.project, config.config_home)[1],
            *price_warnings,
        ],
    }


def _warn_of_sources(config: Config) -> Iterator[str]:
    """List settings of hosts' transcripts that a project's file may not set."""
    file = read_config_file(config.project / PROJECT_FILE, config.project)
    for agent, choice in read_choices(file):
        if choice.path or choice.pattern:
            yield (
                f"{choice.set_by}: transcripts.sources.{agent} is not for a project to place; "
                f"to allow it, put it into {config.config_home / USER_FILE}"
            )


def write_template(path: Path, *, for_project: bool) -> None:
    """Create a file with every possible setting as a comment.

    Raises:
        UsageError: the file exists.
        ContextModeError: the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as out:
            out.write(template(for_project=for_project))
    except FileExistsError:
        raise UsageError(f"{path} already exists", "Edit the file, or rename it first.") from None
    except OSError as error:
        raise ContextModeError(
            f"cannot write {path}: {why(error)}", "Check the folder's owner and mode."
        ) from error


def template(*, for_project: bool) -> str:
    """Return the text of a new file."""
    scope = (
        "of this project: it may only tighten" if for_project else "in all projects of this user"
    )
    lines = [f"# Settings {scope}.", "# `context-mode doctor config show` shows the active values."]
    table = ""
    for setting in SETTINGS:
        if for_project and setting.project_may == "not change":
            continue
        head, name = setting.path
        if head != table:
            lines += ["", f"[{head}]"]
            table = head
        value = json.dumps(setting.default)
        lines.append(f"# {name} = {value}  # {setting.about}")
    lines += ["", "# [transcripts.sources.codex]", "# enabled = false"]
    lines += ["", "# [profiles.online]", '# base = "analyze"', '# network = ["api.github.com"]']
    return "\n".join(lines) + "\n"


def _show(shown: dict[str, Any]) -> None:
    from ctxmode.render.terminal import build_table, console  # noqa: PLC0415 - for people only

    out = console()
    table = build_table("setting", "value", "from")
    table.add_row("project", shown["project"], "")
    table.add_row("storage", shown["storage"], "")
    for setting in shown["settings"]:
        table.add_row(setting["key"], one_line(str(setting["value"])), setting["origin"])
    for source in shown["sources"]:
        name = f"transcripts.sources.{source['agent']}"
        for key in ("enabled", "path", "pattern"):
            if source[key] not in ("", True):
                is_off = key == "enabled" and source["off_by"]
                origin = source["off_by"] if is_off else source["set_by"]
                table.add_row(f"{name}.{key}", one_line(str(source[key])), origin)
    out.print(table)
    out.print(f"profiles: {one_line(', '.join(shown['profiles']))}", markup=False)
    for file in shown["files"]:
        out.print(f"file: {file['path']}{'' if file['exists'] else ' (none)'}", markup=False)
    for warning in shown["warnings"]:
        out.print(f"warning: {one_line(warning)}", markup=False)
