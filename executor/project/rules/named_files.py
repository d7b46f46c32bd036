"""Paths in a project that automatically started programs are configured to run or read.

git prints its configuration, with the user's environment. Any word of any value counts if it
may be a path, whatever the key. So do commands in settings of agents, editors, shells.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from base.bounded_run import GIT_PATH, BoundedRunError, Bounds, run_bounded
from base.host_homes import MOVED, find_place
from base.plain_files import read_head
from base.wordlist import word_set, words
from executor.project.rules.names import ObeyedNames, fold
from executor.project.view.record import Record
from executor.project.view.tree import find_inside
from policy import real_path

# Parts that only a shell can expand: a variable, a command's output, braces, a glob.
_UNKNOWN = re.compile(
    r"\{\{.*?\}\}|\$\{[^}]*\}|\$\([^()]*\)|`[^`]*`|\$\w+\$?|\$[@*#?]|\{[^{}\s]*,[^{}\s]*\}|[*?]+"
)
_BREAK = re.compile(r"[\s;&|<>(){}`]+")
_QUOTED = re.compile(r"\"([^\"]*)\"|'([^']*)'")
_QUOTE = re.compile(r"[\"']")
_MODULE = re.compile(r"(?:^|\s)(?:-\w*m|--module|module)[\s=:,]*([^\W\d][\w.]*)")
_BLANK = "\1"  # a blank after a backslash, which is part of a word
# Parts of files with commands that are not commands: comments, keys, selections of files or of a
# hook's source, globs and regular expressions, permissions to read or write.
_NO_COMMAND = re.compile(
    r"""^\s*\#.*$ | "(?!module")[^"\n]*"\s*:
      | ^([ \t]*)(?:-([ ]+))?(?:files|exclude|glob|rev|repo|name)\s*:.*\n?
        (?:\1(?(2)[ ]\2)[ \t]+.*\n?)*
      | [^\s"',]*(?:[\^*?]|\\\.|\$(?=["'\s]|\Z))[^\s"',]* | \b(?!Bash)[A-Z]\w*\([^)]*\)""",
    re.M | re.X,
)


def split_words(text: str) -> set[str]:
    """Return the words that may be paths, without quotes and escapes, and the whole text.

    Of a partly unknown word, the folder before the unknown part and each part after it count.
    Modules are folders.
    """
    plain = text.replace("\\ ", _BLANK).replace("\\", "")
    spaced, known = _QUOTE.sub(" ", plain), _QUOTE.sub("", plain)
    while (shorter := _UNKNOWN.sub("\0", known)) != known:
        known = shorter
    words = {text.strip(), *(word for pair in _QUOTED.findall(plain) for word in pair)}
    for word in (*_BREAK.split(spaced), *_BREAK.split(known)):
        start, *unknown = word.split("\0")
        words.update(_parts(start[: start.rfind("/") + 1] if unknown else start))
        for end in unknown[-1:]:
            for at in (at for at, character in enumerate(end) if character == "/"):
                words.update(_parts(end[at + 1 :]))
    for module in _MODULE.findall(spaced):
        names = module.strip(".").split(".")
        for folder in ("/".join(names[:end]) for end in range(1, len(names) + 1)):
            words |= {f"{folder}/", f"{folder}/__init__.py", f"{folder}/__main__.py"}
    return {word.replace(_BLANK, " ") for word in words if word.strip("/.") and "\0" not in word}


def keep_commands(text: str) -> str:
    """Return a file's text without the parts that are not commands, as `exclude: ^docs/`."""
    return _NO_COMMAND.sub(" ", text.replace(":*)", ")").replace("\\n", "\n"))


def _parts(word: str) -> Iterator[str]:
    """Yield a word, an option's value, and the parts of `a=b`, `a:b`, `a,b` and `@a`."""
    word = word.strip("[]!,").removeprefix("file://")
    yield from (word, word.lstrip("-"), *re.split("[=:,@]", word))
    if word.startswith("-"):
        yield word[2:]


def in_project(names: ObeyedNames, record: Record) -> ObeyedNames:
    """Return the table of names, with the names in this project that others point to.

    Examples are a link `CLAUDE.md`, or a host's folder that a variable moved: a change to the
    target changes a file that tools load.
    """
    leads = [
        (link, inside)
        for link, target in _leads(record, names)
        if (inside := find_inside(target, str(record.project)))
    ]
    return names.with_links(leads) if leads else names


def _leads(record: Record, names: ObeyedNames) -> Iterator[tuple[str, str]]:
    """Yield each link with a loaded name, and the absolute path of its target."""
    project = str(record.project)
    for path, kind in record.kinds():
        if kind == stat.S_IFLNK and names.judge_link(path):
            yield path, real_path(f"{project}/{path}")
    yield from _by_variables()


def _by_variables() -> Iterator[tuple[str, str]]:
    """Yield the names of hosts' folders, and where variables of this process have moved them."""
    for place, _, _ in MOVED:
        target = find_place(place, "", os.environ)
        if os.path.isabs(target):
            yield place.removeprefix("~/"), target
            yield place.removeprefix("~/"), real_path(target)


BOUNDS: Final[Bounds] = (5.0, 1 << 20)
"""Limits for one call of git; if it exceeds them, its working tree counts as unknown."""
WORDS_MAX: Final = 20_000  # in git's configuration
TREES_MAX, FILES_MAX, FOLDERS_MAX, FILE_BYTES_MAX = 256, 256, 16, 1 << 16
_LIST = words(
    "-c safe.directory=* -c safe.bareRepository=all config -z --list --includes --show-origin"
)
# Values that are names of users, refs, places or colours, not paths of programs or settings.
_PLAIN = re.compile(
    r"(?:user|author|committer|color|column|advice|safe|gui|maintenance|scalar)\..*"
    r"|init\.defaultbranch|core\.worktree|push\.default|merge\.(?:tool|conflictstyle)|diff\.tool"
    r"|branch\..*\.(?:merge|remote|pushremote|rebase)|submodule\..*\.(?:url|branch|active)"
    r"|remote\..*\.(?:fetch|push|url|pushurl)"
)
_VALUE = re.compile(r"(?:true|false|auto|[\d.]*)", re.I)  # these, too
_MISLEADING = re.compile("GIT_(?!CONFIG_)")  # as GIT_DIR, GIT_CONFIG
_REFUSED = re.compile(b"not a git repository|invalid gitfile format")
_INCLUDE = re.compile(r"include(?:if\..*)?\.path", re.DOTALL)
_VARIABLES = words(
    "GIT_SSH GIT_SSH_COMMAND GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_PAGER GIT_EXTERNAL_DIFF GIT_ASKPASS"
    " GIT_PROXY_COMMAND GIT_TEMPLATE_DIR GIT_EXEC_PATH EDITOR VISUAL PAGER SSH_ASKPASS BASH_ENV ENV"
)
_STARTED = words("git sh bash ssh less vi editor gpg")  # git starts these even if not configured
_FILES = word_set(
    ".mcp.json .envrc opencode.json opencode.jsonc mise.toml .mise.toml lefthook.yml lefthook.yaml"
    " .lefthook.yml .pre-commit-config.yaml .claude/settings.json .claude/settings.local.json"
    " .cursor/mcp.json .cursor/hooks.json .gemini/settings.json .qwen/settings.json"
    " .codex/config.toml .codex/hooks.json .vscode/tasks.json .vscode/launch.json .vscode/mcp.json"
    " .vscode/settings.json .zed/tasks.json .zed/settings.json"
)
_FOLDERS = (".husky", ".run", ".idea/runConfigurations")
_PACKAGES = word_set("node_modules site-packages dist-packages bower_components")
_LAST_NAMES = {name.rpartition("/")[2] for name in _FILES}
_CONTROL = re.compile(r"(?:^|/)\.git(?:/modules/.*)?\Z", re.DOTALL)  # known by its working tree
_DATA = re.compile(
    r".*\.(?:md|txt|rst|xml|log|csv|html|css|svg|png|lock|info|jsonc?|toml|ya?ml|ini|cfg|conf)"
)
# Of direnv and mise: folders in which programs are searched, and files that a shell reads.
_SEARCHED = re.compile(r"\bPATH\b.*|\bPATH_add .*|\bsource(?:_\w+)? .*|_\.(?:path|source) .*")
_MOVES = re.compile(r"(?:\bcd|\bpushd|-C)\s+([^;&|\n]+)")
EXACT, SUFFIXED, BELOW = 0, 1, 2  # the reach of a word: itself; with a suffix; also all below
Settings: TypeAlias = list[tuple[str, str, str]]  # file ("" for none), key, value


@dataclass(slots=True)
class NamedFiles:
    """Named paths in one project; everything is read at the first question."""

    record: Record
    made: Iterable[str] = ()  # tops of working trees that a run made
    _named: dict[str, tuple[str, int]] = field(default_factory=dict)
    _above: set[str] = field(default_factory=set)
    _left: int = WORDS_MAX

    def why_named(self, path: str) -> str:
        """Return which file names a path, or a path below it; "" if none does."""
        if not self._above:
            self._above.add("")
            self._read()
        folded = _fold(path)
        if folded in self._above:  # a link there would replace the files below
            return "a tool is configured to start a file below it"
        parts, name = folded.split("/"), folded.rfind("/") + 1
        reached = [(folded, EXACT), *(("/".join(parts[:n]), BELOW) for n in range(len(parts)))]
        stems = (at for at, character in enumerate(folded) if character == "." and at > name)
        reached += [(folded[:at], SUFFIXED) for at in stems]
        for each, reach in reached:
            if each in self._named and self._named[each][1] >= reach:
                return self._named[each][0]
        return ""

    def _read(self) -> None:
        trees, files = self._find()
        with ThreadPoolExecutor(4) as pool:
            answers = (pool.map if len(trees) > 1 else map)(self._ask, trees[:TREES_MAX])
            for tree, answer in zip(trees, answers, strict=False):
                if isinstance(answer, str):
                    self._named[_fold(tree)] = (
                        f"cannot read git's configuration: {answer}",
                        BELOW,
                    )
                else:
                    self._take_settings(tree, answer, trees)
        if self._left < 0 or len(trees) > TREES_MAX:
            self._named[""] = "git's configuration is too large to check all of it", BELOW
        for file in files[:FILES_MAX]:
            self._take_file(file)

    def _find(self) -> tuple[list[str], list[str]]:
        """Return the folders in which to ask git, the top first, and the files with commands."""
        trees, files, states = [""], [], self.record.states
        for path, _ in self.record.kinds():
            above, _, name = path.rpartition("/")
            if name == ".git":
                trees.append(above)
            elif name == "HEAD" and not _CONTROL.search(above):
                marks = (f"{above}/{mark}".lstrip("/") for mark in ("objects", "commondir"))
                trees += [above] if any(mark in states for mark in marks) else []
            elif name in _LAST_NAMES or above.endswith(_FOLDERS):
                last_two = "/".join(path.rsplit("/", 2)[-2:])
                is_obeyed = {name, last_two} & _FILES or above.endswith(_FOLDERS)
                if is_obeyed and _PACKAGES.isdisjoint(path.split("/")):
                    files.append(path)
        return list(dict.fromkeys(trees)), files

    def _ask(self, tree: str) -> Settings | str:
        """Return git's configuration in a folder, or the reason why it can't be read.

        If git refuses to work there, its configuration is empty: it starts no program there.
        """
        project, found, met = str(self.record.project), Settings(), {""}
        env = {k: v for k, v in os.environ.items() if not _MISLEADING.match(k)} | {"LC_ALL": "C"}
        own = [at for at in env.get("PATH", "").split(":") if at[:1] == "/" and project not in at]
        git, pending = shutil.which("git", path=":".join((GIT_PATH, *own))), [""]
        while git and pending:
            more = [f"--file={file}" for file in [pending.pop()] if file]
            try:
                done = run_bounded(
                    (git, *_LIST, *more), BOUNDS, environment=env, folder=f"{project}/{tree}"
                )
            except BoundedRunError as error:
                return str(error)
            if done.returncode and not _REFUSED.search(done.stderr):
                return done.stderr.decode("utf-8", "replace").strip()[:200]
            parts = iter(os.fsdecode(done.stdout).split("\0"))
            for origin, setting in zip(parts, parts, strict=False):
                file = origin.removeprefix("file:") if origin.startswith("file:") else ""
                key, _, value = setting.partition("\n")
                found.append((file, key, value))
                # A file that is not included now may be after a switch of branches.
                place = _join(f"{project}/{tree}", os.path.dirname(file), value)
                if _INCLUDE.fullmatch(key) and place not in met and os.path.isfile(place):
                    pending.append(place)
                    met.add(place)
        return found

    def _take_settings(self, tree: str, settings: Settings, trees: list[str]) -> None:
        folder = self.record.project / tree
        # If the project is in a larger repository, git names origins relative to the latter's top.
        tops = [folder] if tree or ".git" in self.record.states else [folder, *folder.parents]
        origins = {os.path.dirname(origin): 0 for origin, _, _ in settings}
        bases = [*map(str, tops), *(_join(str(top), at) for top in tops for at in origins)]
        bases += [_join(b, v) for _, key, v in settings if key == "core.worktree" for b in bases]
        if not tree:
            bases += [str(folder / top) for top in self.made]
            settings += [("", name, os.environ.get(name, "")) for name in _VARIABLES]
        for origin, key, value in dict.fromkeys(settings):
            why = f"git: {key} in its configuration"
            for top in tops if origin else ():
                self._hold(_join(str(top), origin), f"git reads {origin}", EXACT)
            is_plain = _PLAIN.fullmatch(key) and "::" not in value
            is_name = key.startswith("credential.") and not {"/", "!"} & {*value}  # on PATH
            if is_plain or is_name or _VALUE.fullmatch(value):
                continue
            self._left -= value.count(" ") + 1
            if self._left < 0:
                break
            # The command that updates a submodule starts inside that submodule.
            more = [str(folder / tree) for tree in trees] if key.startswith("submodule.") else []
            command = shutil.which((value.lstrip("!").split() or [""])[0])
            if command:  # it may be a link into the project
                self._hold(command, why, EXACT)
            is_command = command or key.startswith("alias.") or re.search(r"\s", value)
            lone = EXACT if is_command and not key.endswith(("path", "dir")) else BELOW
            text = f"{value} {key}" if "::" in key else value  # as url.ext::COMMAND.insteadOf
            self._take_text(text, why, bases + more, lone)

    def _take_file(self, path: str) -> None:
        """Hold files that are named in the commands of a file that a tool loads."""
        project, why = str(self.record.project), f"named in {path}, which a tool loads"
        try:
            data = read_head(f"{project}/{path}", FILE_BYTES_MAX)
        except OSError:  # now missing, a folder, or endless
            return
        text = keep_commands(os.fsdecode(data))
        above = os.path.dirname(path)
        bases = [f"{project}/{above}", f"{project}/{re.split(r'(?:^|/)[.]', above)[0]}"]
        self._take_text(text, why, bases)
        for found in _SEARCHED.findall(text):
            self._take_text(found, why, bases, BELOW)

    def _take_text(self, text: str, why: str, bases: list[str], lone: int | None = None) -> None:
        """Hold files that a command's words may name, in `bases` and in folders among the words.

        A word without a slash has the reach `lone`; if that is None, only programs are held.
        """
        found = split_words(text)
        # Folders that exist, or that a run may make: a command may be started in them.
        moved = {word for words in _MOVES.findall(text) for word in split_words(words)}
        places = [(word, _join(base, word)) for base in bases for word in found]
        inside = [
            (word, at)
            for word, at in places
            if self._inside(at) or ("/" in word and self._inside(real_path(at)))
        ]
        folders = [at for word, at in inside if word in moved or os.path.isdir(at)][:FOLDERS_MAX]
        inside += [(word, _join(folder, word)) for folder in folders for word in found]
        for word, place in inside:
            is_path = "/" in word
            if lone is not None:
                self._hold(place, why, BELOW if is_path else lone)
            elif (is_path or ("." in word and os.path.isfile(place))) and not _DATA.fullmatch(word):
                self._hold(place, why, SUFFIXED if is_path else EXACT)
        searched = [_join(bases[0], at) for at in os.environ.get("PATH", "").split(":")]
        for folder in (at for at in searched if f"{at}/".startswith(f"{self.record.project}/")):
            for word in (*found, *_STARTED):
                self._hold(f"{folder}/{word}", why, EXACT)
                self._hold(f"{folder}/git-{word}", why, EXACT)

    def _hold(self, place: str, why: str, reach: int) -> None:
        for inside in filter(None, map(self._inside, {place, real_path(place)})):
            folded = _fold(inside)
            if reach >= self._named.get(folded, ("", EXACT))[1]:
                self._named[folded] = (why, reach)
            while folded := folded.rpartition("/")[0]:
                self._above.add(folded)

    def _inside(self, place: str) -> str:
        return find_inside(place, str(self.record.project))


def _fold(path: str) -> str:
    return "/".join(fold(part) or part for part in path.split("/"))


def _join(*parts: str) -> str:
    return os.path.normpath(os.path.join(*parts[:-1], os.path.expanduser(parts[-1])))
