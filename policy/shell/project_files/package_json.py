"""Scripts of package.json, run by their names in one package or in those of a workspace."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from policy import marks
from policy.shell.options import Parsed, parse
from policy.shell.project_files import Project, Reader, Step, joined, table, texts
from policy.shell.project_files.data_files import read_data
from policy.wildcards import is_made_of
from policy.wordlist import word_set, words

_SHORT = {"npm": "Cw", "pnpm": "CF", "bun": "F", "turbo": "F", "nx": "tp"}
_LONG = words(
    "prefix cwd dir workspace filter scope target targets projects userconfig cache registry "
    "loglevel concurrency"
)
_RUN_VERBS = word_set("run run-script rum urn")
_SAME = {"t": "test", "tst": "test", "i": "install", "ci": "install", "clean-install": "install"}
_SAME |= {"it": "install-test", "": "install"}
_INSTALL = "preinstall install postinstall prepublish preprepare prepare postprepare"
_HOOKS = {
    "install": _INSTALL,
    "install-test": f"{_INSTALL} test",
    "publish": "prepublishOnly prepack prepare postpack publish postpublish",
    "pack": "prepack prepare postpack",
    "version": "preversion version postversion",
    "restart": "stop start",
}
_OWN_VERBS = word_set("add bin bunx config create dlx exec init link list remove set upgrade x")


class Package(NamedTuple):
    """A folder with a package.json."""

    folder: str
    data: dict[str, Any]

    def run(self, name: str, arguments: str = "") -> Iterator[Step]:
        """The scripts of a name, which may hold `*`, and what goes before and after each."""
        scripts = table(self.data, "scripts")
        for known in scripts if "*" in name else [name]:
            if is_made_of(name.split("*"), known):
                for stage in (f"pre{known}", known, f"post{known}"):
                    for text in texts(scripts.get(stage)):
                        line = f"{text} {arguments}" if stage == known else text
                        yield Step(line, self.folder)


def _package(project: Project, folder: str = "", *, is_upwards: bool = True) -> Package:
    found, text = project.find("package.json", folder, is_upwards=is_upwards)
    return Package(found, read_data("package.json", text))


def _members(project: Project, root: Package, wanted: list[str]) -> list[Package]:
    """The packages of a workspace: those whose name or folder is wanted, else all."""
    listed = root.data.get("workspaces")
    given = [*texts(listed), *texts(table(listed).get("packages"))]
    for name in ("pnpm-workspace.yaml", "lerna.json"):
        given += texts(read_data(name, project.read(name, root.folder)).get("packages"))
    found: dict[str, Package] = {}
    for pattern in given or ["packages/*"]:
        head, star, _ = f"{root.folder}/{pattern.removeprefix('./').rstrip('/')}".partition("*")
        for name in project.read(head).split() if star else [""]:
            found[head + name] = _package(project, head + name, is_upwards=False)
    members = [package for package in found.values() if package.data]
    names = [re.sub(r"[{}^]|\.\.\.|\[.*", "", name).removeprefix("./") for name in wanted]
    chosen = []
    for member in members:
        own = str(member.data.get("name", ""))
        spellings = (own, own.rpartition("/")[2], member.folder[len(root.folder) + 1 :])
        if any(is_made_of(n.split("*"), one) for n in names if n for one in spellings):
            chosen.append(member)
    return chosen if any(names) else members


def _parsed(project: Project) -> tuple[Parsed, list[str]]:
    """Options before and behind the verb; the verb and all that is not an option of the tool."""
    tool = project.call.name
    outer = parse(project.call.argv, _SHORT.get(tool, ""), _LONG, permutes=False)
    given = [word for _, word in outer.operands] or [""]
    is_loose = tool in ("npm", "turbo", "nx", "lerna")
    inner = parse(given, _SHORT.get(tool, ""), _LONG, permutes=is_loose)
    rest = [word for _, word in inner.operands]
    return outer._replace(options=outer.options + inner.options), [given[0], *rest]


def _scripts(project: Project) -> Iterator[Step]:
    """`npm run x`, `npm test`, `yarn x`, `pnpm -r x`, `bun run x`, `npm install`."""
    options, (verb, *rest) = _parsed(project)
    root = _package(project, next(options.values(("prefix", "cwd", "dir", "C")), ""))
    wanted = list(options.values(("w", "workspace", "filter", "F")))
    is_quiet = options.has("ignore-scripts")
    packages = [root]
    if verb in ("workspace", "workspaces"):  # of yarn
        wanted, rest = (rest[:1], rest[1:]) if verb == "workspace" else ([], rest[-2:])
        packages = _members(project, root, wanted)
        verb, *rest = rest or [""]
    elif wanted or options.has("workspaces", "ws", "r", "recursive"):
        packages = _members(project, root, [name for name in wanted if name != "s"])
        is_quiet = True
    if verb in _RUN_VERBS:
        verb, *rest = rest or [""]
        verb = marks.as_written(verb).strip("/^$").replace(".*", "*")
        hooks = ""
    else:
        verb = _SAME.get(verb, verb)
        hooks = "" if is_quiet or (verb == "install" and rest) else _HOOKS.get(verb, "")
        verb = "" if verb in _OWN_VERBS or verb == "install" else verb
    arguments = joined(rest[1:] if rest[:1] == ["--"] else rest)
    for package in packages:
        for name in words(hooks):
            for text in texts(table(package.data, "scripts").get(name)):
                yield Step(text, package.folder)
        yield from package.run(verb, arguments)


def _several(project: Project) -> Iterator[Step]:
    """`run-s clean build:*`, `run-p "watch -- --fast" lint`."""
    for word in project.call.argv[1:]:
        name, _, arguments = marks.as_written(word).partition(" ")
        if name[:1] != "-":
            yield from _package(project).run(name, arguments.strip().removeprefix("--"))


def _everywhere(project: Project) -> Iterator[Step]:
    """`turbo run x --filter=y`, `lerna run x`, `nx run y:x`, `nx x y`: a script of each package."""
    options, (verb, *rest) = _parsed(project)
    given = rest if verb in ("run", "run-many", "affected") else [verb, *rest]
    wanted = list(options.values(("filter", "scope", "projects", "F", "p")))
    if project.call.name == "nx":
        owner, _, target = given[0].partition(":") if given else ("", "", "")
        listed = ",".join(options.values(("t", "target", "targets")))
        wanted += [owner] if target else [] if listed else given[1:2]
        given = (listed or target or owner).split(",")
    root = _package(project)
    tasks = table(read_data("turbo.json", project.read("turbo.json", root.folder)), "tasks")
    for name in given:
        needed = texts(table(tasks, name).get("dependsOn"))
        given += {other.lstrip("^").rpartition("#")[2] for other in needed}.difference(given)
        for package in (root, *_members(project, root, wanted)):
            yield from package.run(name)


def _own_program(project: Project) -> Iterator[Step]:
    """`npx x`, where x is a program of the package itself."""
    name, *arguments = project.call.words(project.call.argv) or [""]
    package = _package(project)
    programs = package.data.get("bin")
    for path in texts(programs if isinstance(programs, str) else table(programs).get(name)):
        if path != programs or package.data.get("name") == name:
            yield Step(joined([f"./{path}", *arguments]), package.folder)


READERS: dict[str, Reader] = {
    **dict.fromkeys(words("npm yarn pnpm bun"), _scripts),
    **dict.fromkeys(words("npx bunx pnpx"), _own_program),
    **dict.fromkeys(words("run-s run-p npm-run-all"), _several),
    **dict.fromkeys(words("turbo nx lerna"), _everywhere),
}
