"""Real bash against the policy: whatever bash starts, the policy must have seen coming.

The programs on PATH are stand-ins that only write down how they were called.
"""

from __future__ import annotations

import os
import random
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from policy import marks
from policy.analysis import analyse
from policy.cases import read_cases
from policy.model import Command, OpaqueExec, Subject, Unparsed, program_name
from tests.needs import needs

BASH = shutil.which("bash")
TABLE = Path(__file__).with_name("cases") / "shell.tsv"
# It may be killed at any moment: what it writes is whole once its last byte is there.
STAND_IN = """#!{bash}
printf -v words '\\037%s' "$@"
printf '%s\\036' "${{0##*/}}$words" >> "$LOG"
"""
STAND_INS = ("mark", "rm", "sudo", "git", "curl", "docker", "ssh")
# Harmless programs that the shell text may really use, where the machine has them.
REAL = (
    "cat tr rev base64 xargs env timeout nice nohup tee sed seq head printf echo find sort awk "
    "true ls touch xxd cut mktemp stdbuf setsid"
)

pytestmark = needs("bash")


class Machine:
    """A folder whose only programs are stand-ins and harmless ones."""

    def __init__(self, root: Path) -> None:
        self.programs, self.log, self.work = root / "bin", root / "log", root / "work"
        self.programs.mkdir()
        self.work.mkdir()
        for name in STAND_INS:
            path = self.programs / name
            path.write_text(STAND_IN.format(bash=BASH))
            path.chmod(0o755)
        for name in REAL.split():
            if found := shutil.which(name):
                os.symlink(found, self.programs / name)
        for name in ("bash", "sh"):
            os.symlink(str(BASH), self.programs / name)

    def run(self, code: str) -> list[tuple[str, ...]]:
        """The argument lists that bash really starts."""
        self.log.write_text("")
        env = {"PATH": str(self.programs), "LOG": str(self.log), "HOME": str(self.work)}
        subprocess.run(
            ["/usr/bin/timeout", "-k", "1", "5", str(BASH), "-c", code],
            env=env, cwd=self.work, capture_output=True, stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
        *whole, _cut_short = self.log.read_text(errors="replace").split("\x1e")
        return [tuple(entry.split("\x1f")) for entry in whole]

    def unseen(self, code: str) -> list[tuple[str, ...]]:
        """What bash started and the policy neither saw nor called unknown."""
        env = {"PATH": str(self.programs), "HOME": str(self.work)}
        subject = Subject("shell", code, cwd=str(self.work), home=str(self.work), env=env,
                          surface="agent_shell")  # fmt: skip
        effects = analyse(subject).effects
        if any(isinstance(effect, OpaqueExec | Unparsed) for effect in effects):
            return []
        seen = [effect.argv for effect in effects if isinstance(effect, Command)]
        if any(program_name(argv[0]) is None for argv in seen):
            return []
        return [argv for argv in self.run(code) if not any(covers(s, argv) for s in seen)]


def covers(seen: tuple[str, ...], ran: tuple[str, ...]) -> bool:
    """Whether an argument list with unknown parts stands for one that was really used."""
    if program_name(seen[0]) != ran[0]:
        return False
    if any(marks.splits(word) or marks.has_glob(word) for word in seen[1:]):
        return True
    pattern = "\x1f".join(
        "".join(".*" if marks.has_hole(char) else re.escape(char) for char in word)
        for word in seen[1:]
    )
    pattern = pattern.replace("/.*", "(?:/.*)?")  # a folder listed is also below itself
    return re.fullmatch(pattern, "\x1f".join(ran[1:]), re.DOTALL) is not None


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


# Rows that reach real programs by path, need a terminal, or search the whole machine.
NOT_RUN = re.compile(
    r"/(usr/)?bin/|\.\./|xterm|screen|tmux|\bat\b|crontab|find /|cd /|/[b?]\?*/rm|/proc/|ld-linux"
)
SHARDS = 4


@pytest.mark.parametrize("shard", range(SHARDS))
def test_every_row_of_the_table_runs_only_what_was_seen(machine: Machine, shard: int) -> None:
    unseen = {
        case.code: found
        for case in read_cases(TABLE)[shard::SHARDS]
        if not NOT_RUN.search(case.code) and (found := machine.unseen(case.code))
    }
    assert unseen == {}


class Writer:
    """Writes random shell programs out of every construct the walker knows."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0

    def word(self, text: str) -> str:
        """A word in a random spelling."""
        pieces, rest = [], text
        while rest:
            size = self.random.randint(1, len(rest))
            piece, rest = rest[:size], rest[size:]
            pieces.append(
                self.random.choice([
                    piece, f"'{piece}'", f'"{piece}"', f'""{piece}', f"\\{piece}"
                    if piece[0].isalpha() else piece, f"{piece[:1]}\\\n{piece[1:]}",
                    "${Z-" + piece + "}",
                    "$'" + "".join(f"\\x{ord(char):02x}" for char in piece) + "'",
                ])
            )  # fmt: skip
        return "".join(pieces)

    def leaf(self) -> str:
        """One command, numbered so that it can be told from the others."""
        self.count += 1
        extra = self.random.choice(["", "'a b'", "-x", "'*q'", "'$y'", "'a;b'", '"it\'s"'])
        return f"{self.word('mark')} {self.word(str(self.count))} {extra}".rstrip()

    def program(self, depth: int) -> str:
        """A few statements."""
        statements = [self.statement(depth) for _ in range(self.random.randint(1, 2))]
        return "\n".join(statements)

    def statement(self, depth: int) -> str:
        """A statement, nested up to a depth."""
        if depth <= 0 or self.random.random() < 0.25:
            return self.leaf()
        template = self.random.choice(TEMPLATES)
        name, tag = self.random.choice("abcde"), f"E{self.random.randint(1, 99)}"
        quoted_leaf, quoted = shlex.quote(self.leaf()), shlex.quote(self.program(depth - 1))
        return template.format(
            P=self.program(depth - 1), L=self.leaf(), M=self.leaf(), QL=quoted_leaf, QP=quoted,
            V=name, E=tag,
        )  # fmt: skip


TEMPLATES = (
    "({P})",
    "{{ {P}\n}}",
    'echo "$({P})"',
    "if {L}; then {P}\nelse {M}; fi",
    "for {V} in 1 2; do {P}\ndone",
    "while {L}; do {M}; break; done",
    "case x in y) {L}\n;; x|z) {P}\n;; esac",
    "f{V}() {{ {P}\n}}; f{V} q",
    '{V}={QL}; eval "${V}"',
    "bash -c {QP}",
    "bash <<{E}\n{L}\n{E}\n",
    "cat <<'{E}' | bash\n{P}\n{E}\n",
    "cat <<{E}\n$({L})\n{E}\n",
    "{L} && {M}",
    "{L} || {M}",
    "{L} | cat",
    "{L} & wait",
    "! {L}",
    "time {L}",
    "env A=1 {L}",
    "timeout 2 {L}",
    "nohup {L}",
    'set -- {L}; "$@"',
    '{V}=({L}); "${{{V}[@]}}"',
    "echo x | xargs {L}",
    "trap {QL} EXIT",
    "cat < <({P})",
    "echo $(( $({L}) 1 ))",
    "[[ -n $({L}) ]]",
    "echo ${{Q:-$({L})}}",
    "{V}=$({P})",
    "printf -v {V} %s mark; ${V} 7",
    "echo {QL} | bash",
    "bash <<< {QL}",
    "read {V} <<< mark; ${V} 8",
    "cat <<A <<{E}\n$({L})\nA\nb\n{E}\n",
    "for (( i=0; i<1; i++ )); do {P}\ndone",
    "{V}=mark; ${V} 9",
    "echo {QL} > s{V}; . ./s{V}",
    'x=({L} {M}); "${{x[@]:0:2}}"',
    "shopt -s extglob; case ab in @(ab|c)) {L};; esac",
    "select_{V}=1 {L}",
    ": ${{N:=$({L})}}",
    "exec 3< <({L}); cat <&3",
    "coproc {{ {L}\n}}; wait",
    "until ! {L}; do break; done",
    "IFS=, read -r x y <<< mark,{V}; $x $y",
    "printf 'mark\\0{V}' | xargs -0 env",
    "declare -n r{V}=z{V}; z{V}=mark; ${{r{V}}} 10",
    "n{V}=z; z=mark; ${{!n{V}}} 11",
    "declare -i i{V}; i{V}='q[$({L})]'",
    "echo ${{Q:$({L}):1}}",
    "a='q[$({L})]'; echo ${{Z:a}}",
    'declare -A m=([k]={QL}); eval "${{m[k]}}"',
    "{V}='xmark'; ${{{V}#x}} 12",
    "{V}=MARK; ${{{V},,}} 13",
    "{V}=m-a-r-k; ${{{V}//-/}} 14",
    "{{mark,15}}",
    "mar{{k,k}} 16",
    "bash +x -c {QL}",
    "bash -c -- {QL}",
    "bash -ec 'exec \"$@\"' _ {L}",
    "echo {QL} | tee t{V} | sh",
    'f{V}() {{ "$@"; }}; f{V} {L}',
    'f{V}() {{ local c=$1; shift; $c "$@"; }}; f{V} {L}',
    "export -f g 2>/dev/null; g() {{ {L}\n}}; export -f g; bash -c g",
    'set -- a {L}; shift; "$@"',
    'while read -r c; do eval "$c"; done <<< {QL}',
    'echo {QL} | while read -r c; do eval "$c"; done',
    'mapfile -t l <<< {QL}; eval "${{l[0]}}"',
    'for c in {QL} true; do eval "$c"; done',
    "printf '%s\\n' {QL} > d{V}; bash d{V}",
    "cat > d{V} <<'{E}'\n{P}\n{E}\n. ./d{V}",
    "echo mark 17 | rev | rev | sh",
    "base64 <<< {QL} | base64 -d | sh",
    "$(echo mark) 18",
    '"$(printf mark)" 19',
    "x='mark 20'; $x",
    "IFS=:; x=mark:21; $x; unset IFS",
    "cat <<{E}\n`{L}`\n{E}\n",
    'echo "a $(echo "b $({L})")"',
    "[[ x == $({L}) ]] || :",
    "case $({L}) in *) :;; esac",
    "x=$({L}) y=1 true",
    "x+=$({L})",
    "q[$({L})0]=1 2>/dev/null",
    "{L} 2>&1 >/dev/null | cat",
    "exec 4>&1; {L} >&4",
    "> e{V} {L}",
    "( ( {L} ) )",
    "{L} |& cat",
    "if false; then :; elif {L}; then :; fi",
    "find . -maxdepth 0 -exec {L} \\;",
    "setsid -w {L}",
    "stdbuf -oL {L}",
    "nice -n 1 {L}",
    'env -i PATH="$PATH" LOG="$LOG" {L}',
    "\\mark 22",
    "alias k{V}={QL}; shopt -s expand_aliases\nk{V}",
    "trap {QL} DEBUG; true; trap - DEBUG",
)


@pytest.mark.parametrize("seed", range(6))
def test_random_programs_run_only_what_was_seen(machine: Machine, seed: int, is_long: bool) -> None:
    writer = Writer(seed)
    unseen = {}
    for _ in range(1_000 if is_long else 20):
        code = writer.program(3)
        checked = subprocess.run([str(BASH), "-n", "-c", code], capture_output=True, check=False)
        if checked.returncode == 0 and (found := machine.unseen(code)):
            unseen[code] = found
    assert unseen == {}
