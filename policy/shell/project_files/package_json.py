"""Scripts of a package.json, and programs of a package itself."""

from __future__ import annotations

from collections.abc import Iterator

from policy.shell.project_files import (
    RUNNERS,
    ProjectFiles,
    TargetStep,
    command_line,
    table,
    tasks,
    texts,
)
from policy.shell.project_files.data_files import read_data
from policy.shell.run import PROJECT_FILES


def steps_of(project: ProjectFiles) -> Iterator[TargetStep]:
    """Yield the steps of `npm run x`, `npx x`, `node .`: a script, or a program of a package."""
    call = project.call
    yield from tasks.steps_of(project) if call.name in RUNNERS else ()
    name, *arguments = call.words(call.argv) or [""]
    folder, text = project.find("package.json")
    data = read_data(project, "package.json", text)
    programs = data.get("bin")
    if isinstance(programs, str):
        programs = {data.get("name"): programs}
    for path in texts(table(programs).get(name)):
        yield TargetStep(command_line([f"./{path}", *arguments]), folder)
    if (call.name, name) == ("node", "."):
        yield TargetStep(
            command_line(["node", str(data.get("main", "index.js")), *arguments]), folder
        )
    is_other = name in PROJECT_FILES and name not in table(data, "scripts")
    if is_other and call.name in ("yarn", "pnpm", "bun"):
        yield TargetStep(command_line([name, *arguments]), project.folder)
