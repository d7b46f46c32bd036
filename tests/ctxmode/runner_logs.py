"""CI runners as readers of a log: which commands each of them takes from it.

The rules are those of actions/runner (ActionCommand.cs, ActionCommandManager.cs), of
azure-pipelines-agent (Command.cs), and of the documented forms of TeamCity and GitLab.
"""

from __future__ import annotations

import re

REGISTERED = {
    *("add-mask", "add-matcher", "add-path", "debug", "echo", "endgroup", "error", "group"),
    *("notice", "save-state", "set-env", "set-output", "stop-commands", "warning"),
}
GITLAB = re.compile(r"(section_(?:start|end)):\d+:[\w.-]+(?:\[[^\]]*\])?\r\x1b\[0K")
COMMANDS = {
    "add-mask": "::add-mask::hello",
    "set-output": "  ::set-output name=a::b",
    "upper case": "\t::ADD-MASK::hello",
    "after a blank that is no space": "\u2003::add-mask::hello",
    "after a carriage return": "50 %\r::add-mask::hello",
    "the older form": "see ##[add-mask]hello",
    "the older form, upper case": "##[WARNING]hello",
    "stop": "::stop-commands::mine",
    "azure": "##vso[task.setvariable variable=a]b",
    "azure in a line": "text ##vso[task.complete result=Failed]",
    "teamcity": "##teamcity[buildStop comment='x']",
    "teamcity in a line": "text ##teamcity[buildProblem description='x']",
    "gitlab": "\x1b[0Ksection_start:1:a[collapsed=true]\r\x1b[0Khidden",
}
HARMLESS = {
    "a heading": "## Results\n### More",
    "an address": "listening on ::1 and [::]:80, ::",
    "a name": "  std::move(x); a::b::c",
    "a list": "--- a\n+++ b\n@@ -1 +1 @@",
    "colours": "\x1b[31mred\x1b[0m",
    "a percentage": "50 %0A section_start section_end: none",
    "a comment": "# [link] #[derive(Debug)] #!/bin/sh",
}


def github(log: str) -> list[str]:
    """List the commands that GitHub's runner obeys, each with its data."""
    obeyed, registered, token = [], set(REGISTERED), ""
    for line in re.split(r"\r\n|\r|\n", log):
        found = _read_command(line, registered)
        if found is None:
            continue
        name, data = found
        if token:
            if name == token:
                registered.discard(token)
                token = ""
        elif name == "stop-commands":
            token = data.lower()
            registered.add(token)
        else:
            obeyed.append(f"{name}:{data}")
    return obeyed if not token else [*obeyed, "stopped to the end"]


def _read_command(line: str, registered: set[str]) -> tuple[str, str] | None:
    text = line.lstrip()
    if text.startswith("::") and (end := text.find("::", 2)) >= 0:
        name = text[2:end].partition(" ")[0].lower()
        if name in registered:
            return name, text[end + 2 :]
    if (start := line.find("##[")) >= 0 and (end := line.find("]", start)) >= 0:
        name = line[start + 3 : end].partition(" ")[0].lower()
        if name in registered:
            return name, line[end + 1 :]
    return None


def list_commands(log: str) -> list[str]:
    """List what any of the runners obeys."""
    lines = re.split(r"\r\n|\r|\n", log)
    others = [line for line in lines if re.search(r"##(?:vso|teamcity)?\[", line, re.IGNORECASE)]
    return [*github(log), *others, *GITLAB.findall(log)]
