"""Selection of tests for changed files: by imports, the nearest first, within a time budget.

A test file is near when it mirrors a changed file or imports it; each module between the two adds
one to the distance. Names that a package passes on lead to the module that has them.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from tests.marks import SANDBOX, UNIT, mark_of, may_have

ROOMS = (
    *("base", "benchmarks", "ctxmode", "docs", "executor", "fleet", "images", "kb", "memory"),
    *("policy", "repomap", "runtimes", "tests"),
)
DISTANCE_MAX = 5
# Tests that hold every module to the rules of the house, and every page to the program.
OF_MODULES = tuple(f"tests/structure/test_{name}.py" for name in ("budgets", "modules", "rooms"))
OF_PAGES = ("tests/structure/test_documents.py", "tests/structure/test_known_names.py")
OF_COMMANDS = "tests/e2e/test_docs_commands.py"
SHOWN = 8  # files that a list names
# Data that many modules name is far from the tests of each.
FEW, MANY = 4, 20
# Estimates: of reading a file of tests, and of each test whose time is not recorded yet.
FILE_S, UNIT_S, SANDBOX_S = 0.06, 0.05, 0.5

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_NAME = rf"(?:{'|'.join(ROOMS)})(?:\.\w+)*"
_IN_TEXT = re.compile(rf"\b(?:from|import) ({_NAME})(?: import (\w+))?")
_TEST = re.compile(r"tests/(?:.+/)?test_\w+\.py")


class Import(NamedTuple):
    """A name taken from a module: "" for the module itself, "*" for any module of the package."""

    module: str
    name: str


class Module(NamedTuple):
    """A module as the map keeps it.

    Attributes:
        state: when the file changed last, in nanoseconds, and its size.
        passes_on: it only passes on names of other modules, as a package's own file may.
        tests: how many functions of tests it has.
        imports: what it imports when it runs.
    """

    state: tuple[int, int]
    passes_on: bool
    tests: int
    imports: list[Import]


class Choice(NamedTuple):
    """Chosen test files.

    Attributes:
        run: files in the order in which they run, with their estimated seconds.
        left_out: files that are near as well, and for which there is no time.
    """

    run: dict[str, float]
    left_out: list[str]


def is_test(name: str) -> bool:
    """Return whether a path is that of a file of tests."""
    return _TEST.fullmatch(name) is not None


def read_module(path: str, text: str, state: tuple[int, int] = (0, 0)) -> Module:
    """Return a module's imports, also those by a dotted name in a string.

    One that does not parse has none: the linter names its error.
    """
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return Module(state, False, 0, [])
    package = PurePosixPath(path).parent.parts
    found: dict[Import, None] = {}
    nodes: list[ast.AST] = [tree]
    tests = 0
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        found.update(dict.fromkeys(_find_imports(node, package)))
        tests += isinstance(node, FUNCTIONS) and node.name.startswith("test_")
        nodes += ast.iter_child_nodes(node)
    return Module(state, all(map(_passes_on, tree.body)), tests, list(found))


def _find_imports(node: ast.AST, package: tuple[str, ...]) -> Iterator[Import]:
    if isinstance(node, ast.Import):
        yield from (Import(alias.name, "") for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        above = package[: len(package) + 1 - node.level] if node.level else ()
        module = ".".join((*above, *filter(None, [node.module])))
        yield from (Import(module, alias.name) for alias in node.names)
    elif isinstance(node, ast.JoinedStr):  # import_module(f"{__name__}.{name}")
        begins = ast.unparse(node)[2:].replace("{__name__}", ".".join(package))
        if rooms := re.match(rf"({_NAME})\.{{", begins):
            yield Import(rooms[1], "*")
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        if "." in node.value and re.fullmatch(_NAME, node.value):
            yield Import(*node.value.rsplit(".", 1))
        elif "import " in node.value:
            yield from (Import(*each) for each in _IN_TEXT.findall(node.value))


def _passes_on(statement: ast.stmt) -> bool:
    """Return whether a statement only imports, documents, or sets up what a package passes on."""
    match statement:
        case ast.Import() | ast.ImportFrom() | ast.Expr(ast.Constant()):
            return True
        case ast.Assign():
            targets = {
                node.id
                for one in statement.targets
                for node in ast.walk(one)
                if isinstance(node, ast.Name)
            }
            return all(name.startswith("__") for name in targets)
        case ast.FunctionDef():
            return statement.name.startswith("__")
        case ast.If():
            return all(map(_passes_on, statement.body))
    return False


class ImportMap:
    """The imports of a checkout, and the test files that they lead to.

    Attributes:
        modules: every module and stub of the rooms, by its path in the checkout.
    """

    def __init__(self, root: Path, cache: Path | None = None) -> None:
        """Read the modules of a checkout; those unchanged since the last time are in `cache`."""
        self._root = root
        known = load(cache)
        self.modules: dict[str, Module] = {}
        for path in sorted(path for room in ROOMS for path in (root / room).rglob("*.py*")):
            if path.suffix in (".py", ".pyi"):
                name, stat = path.relative_to(root).as_posix(), path.stat()
                state = (stat.st_mtime_ns, stat.st_size)
                row = known.get(name)
                if row and tuple(row[0]) == state:
                    self.modules[name] = Module(state, *row[1:3], [Import(*one) for one in row[3]])
                else:
                    self.modules[name] = read_module(name, path.read_text(), state)
        if cache:
            save(cache, self.modules)
        self.tests = [name for name in self.modules if is_test(name)]
        self._importers: dict[str, set[str]] = {}
        for name, module in self.modules.items():
            for target in self._targets(name, module) - {name}:
                self._importers.setdefault(target, set()).add(name)

    def _targets(self, name: str, module: Module) -> set[str]:
        """Return the files that a module depends on. Who passes names on depends on none."""
        if name.endswith(".pyi") or (name.endswith("/__init__.py") and module.passes_on):
            return set()
        targets = {path for one in module.imports for path in self._resolve(one)}
        if name.startswith("tests/"):
            targets |= {f"{folder}/conftest.py" for folder in PurePosixPath(name).parents}
        return targets

    def _resolve(self, one: Import, depth: int = 5) -> list[str]:
        """Return the paths of the modules that have a name; none where it is a library's."""
        base = one.module.replace(".", "/")
        if one.name == "*":
            return [name for name in self.modules if str(PurePosixPath(name).parent) == base]
        for path in (f"{base}/{one.name}.py", f"{base}/{one.name}/__init__.py", f"{base}.py"):
            if path in self.modules:
                return [path]
        for package in (f"{base}/__init__.pyi", f"{base}/__init__.py"):
            for inner in self.modules[package].imports if package in self.modules else ():
                if inner.name == one.name and inner.module != one.module and depth:
                    return self._resolve(inner, depth - 1)
        package, above = f"{base}/__init__.py", one.module.rpartition(".")
        if package in self.modules:
            return [package]
        return self._resolve(Import(above[0], above[2]), depth) if above[0] else []

    @cached_property
    def _texts(self) -> dict[str, str]:
        return {name: (self._root / name).read_text() for name in self.modules}

    def distances(self, changed: Iterable[str]) -> dict[str, int]:
        """Return how far each near test file is from changed files."""
        seen: dict[str, int] = {}
        frontier: dict[str, int] = {}
        for name in changed:
            for near, distance in self._begin(name).items():
                frontier[near] = min(distance, frontier.get(near, distance))
        for distance in range(DISTANCE_MAX + 1):
            now = [name for name, its in frontier.items() if its == distance and name not in seen]
            seen |= dict.fromkeys(now, distance)
            for name in now:
                for importer in self._importers.get(name, ()):
                    frontier[importer] = min(distance + 1, frontier.get(importer, distance + 1))
        return {name: distance for name, distance in seen.items() if name in self.tests}

    def _begin(self, name: str) -> dict[str, int]:
        """Return the modules and tests from which the search for a changed file begins."""
        path = PurePosixPath(name)
        if name in self.modules:
            near = dict.fromkeys(self._beside(path), DISTANCE_MAX) | dict.fromkeys(OF_MODULES, 2)
            if path.name == "__main__.py":
                near[f"{path.parent}/__init__.py"] = 0
            return near | dict.fromkeys(self._mirrors(path), 0) | {name: 0}
        near = dict.fromkeys(self._beside(path), DISTANCE_MAX)
        if path.suffix == ".md":
            near |= dict.fromkeys(OF_PAGES, 0) | {OF_COMMANDS: 1}
        # Data belongs to the modules and tests that name it, else to those of its folder. A name
        # without an ending is a word like others, and is looked for with its folder.
        said = path.name if path.suffix else f"{path.parent.name}/{path.name}"
        namers = [one for one, text in self._texts.items() if said in text]
        folder = [one for one in self.modules if PurePosixPath(one).parent in path.parents[:2]]
        owners = namers or folder
        return near | dict.fromkeys(owners, (len(owners) > FEW) + (len(owners) > MANY))

    def _mirrors(self, path: PurePosixPath) -> list[str]:
        """Return the test files that are named after a module."""
        stem = path.parent.name if path.stem.startswith("__") else path.stem.strip("_")
        folders = {f"tests/{folder}" for folder in (path.parent, path.parent.parent)}
        named = re.compile(rf"test_(?:\w+_)?{re.escape(stem)}(?:_\w+)?\.py")
        return [
            test
            for test in self.tests
            if str(PurePosixPath(test).parent) in folders
            and named.fullmatch(PurePosixPath(test).name)
        ]

    def _beside(self, path: PurePosixPath) -> list[str]:
        """Return the test files of the folder that mirrors a file's, or of the nearest above."""
        own = path.parent if path.parts[0] == "tests" else PurePosixPath("tests", path.parent)
        for folder in (own, *own.parents):
            beside = [test for test in self.tests if PurePosixPath(test).parent == folder]
            if beside or folder == PurePosixPath("tests"):
                return beside
        return []


def choose(
    imports: ImportMap, changed: list[str], recorded: dict[str, float], budget_s: float
) -> Choice:
    """Choose the tests of changed files that fit a budget, the nearest first.

    Each word that its path shares with a changed file's counts as two steps nearer. A changed test
    file always runs. Other files without unit or sandbox tests are not near.
    """
    distances = {
        test: distance
        for test, distance in imports.distances(changed).items()
        if test in changed or is_quick(test) or test == OF_COMMANDS
    }
    words = [words_of(name) for name in changed]
    seconds = {test: FILE_S + recorded.get(test, estimate(test, imports)) for test in distances}
    ranked = sorted(
        distances,
        key=lambda test: (
            test not in changed,
            distances[test] - 2 * max(len(words_of(test) & one) for one in words),
            seconds[test],
        ),
    )
    choice, spent = Choice({}, []), 0.0
    for test in ranked:
        if test in changed or spent + seconds[test] <= budget_s:
            choice.run[test] = seconds[test]
            spent += seconds[test]
        else:
            choice.left_out.append(test)
    return choice


@cache
def words_of(name: str) -> set[str]:
    """Return the words of a path, in the singular, without those that many have."""
    return {word.removesuffix("s") for word in re.split(r"[^a-z]+", name)} - {"", "test", "py"}


def is_quick(test: str) -> bool:
    """Return whether a file has tests that `./check` runs without its being changed."""
    return may_have(test, UNIT) or may_have(test, SANDBOX)


def estimate(test: str, imports: ImportMap) -> float:
    """Return the seconds of a file's tests by their number and mark, until they are recorded."""
    each = UNIT_S if mark_of(test) == UNIT else SANDBOX_S
    return each * imports.modules[test].tests


def load(path: Path | None) -> dict[str, list]:
    """Read a cache; one that is missing or damaged is empty."""
    try:
        return json.loads(path.read_text()) if path else {}
    except (OSError, ValueError):
        return {}


def save(path: Path, data: object) -> None:
    """Write a cache whole, so that one who reads it meanwhile has the old or the new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(data))
    part.replace(path)


def shorten(names: list[str]) -> str:
    """Return names on one line, the first few of many."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return (", ".join(names[:SHOWN]) or "nothing") + more
