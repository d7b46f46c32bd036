"""Whatever the spelling: a denied command stays denied, plain words stay plain, nothing raises."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy import Decision, Subject, load_file
from policy.analysis import WORK_PER_BYTE, analyse
from policy.decide import evaluate
from policy.model import encode
from runtimes import LANGUAGES

RULES = load_file(
    Path(__file__).with_name("cases") / "rules.json", project=Path("/w"), home=Path("/home/u")
)
DENIED = ("sudo id", "rm -rf build", "git push --force", "cat .env", "cat ~/.ssh/id_rsa")


def decide(code: str) -> Decision:
    subject = Subject("shell", code, cwd="/w", home="/home/u", surface="agent_shell")
    return evaluate(subject, RULES).decision


@st.composite
def spelled(draw: st.DrawFn, word: str) -> str:
    """The word in another spelling that bash reads the same."""
    pieces = []
    while word:
        size = draw(st.integers(1, len(word)))
        piece, word = word[:size], word[size:]
        pieces.append(draw(st.sampled_from(SPELLINGS))(piece))
    return "".join(pieces)


def ansi(piece: str) -> str:
    return "$'" + "".join(f"\\x{ord(char):02x}" for char in piece) + "'"


SPELLINGS = (
    str,
    lambda piece: f"'{piece}'",
    lambda piece: f'"{piece}"',
    lambda piece: '""' + piece,
    lambda piece: "\\" + piece,
    lambda piece: piece[:1] + "\\\n" + piece[1:],
    lambda piece: f"$(echo {piece})" if piece.isalnum() else piece,
    ansi,
)

WRAPPERS = (
    "{}",
    "true; {}",
    "true && {}",
    "true\n{}",
    "true | {}",
    "({})",
    "{{ {}; }}",
    "! {}",
    "if true; then {}; fi",
    "while {}; do break; done",
    "for i in 1; do {}; done",
    "case x in *) {};; esac",
    "f() {{ {}; }}; f",
    'echo "$({})"',
    "echo `{}`",
    "cat <({})",
    "x=$({})",
    "env A=1 {}",
    "timeout 5 {}",
    "nohup nice -n 5 {}",
    "A=1 {}",
    "{} >/dev/null 2>&1",
    "{} &",
)
QUOTING_WRAPPERS = (
    "bash -c {}",
    "sh -ec {}",
    "eval {}",
    "echo {} | bash",
    "bash <<< {}",
    'x={}; eval "$x"',
    "trap {} EXIT",
    "ssh host {}",
    "printf '%s\\n' {} > s.sh; sh s.sh",
)


@st.composite
def wrapped(draw: st.DrawFn) -> str:
    """A denied command, spelled, wrapped and nested at random."""
    words = draw(st.sampled_from(DENIED)).split()
    if words[-1].startswith("~"):
        code = " ".join([draw(spelled(words[0])), words[-1]])
    else:
        code = " ".join([draw(spelled(word)) for word in words])
    for _ in range(draw(st.integers(0, 3))):
        if draw(st.booleans()):
            template = draw(st.sampled_from(WRAPPERS))
            in_backticks = "`" in template and ("`" in code or "\\" in code)
            code = code if in_backticks else template.format(code)
        else:
            code = draw(st.sampled_from(QUOTING_WRAPPERS)).format(shlex.quote(code))
    return code


@given(wrapped())
def test_a_denied_command_stays_denied_however_it_is_written(code: str) -> None:
    assert decide(code) is Decision.DENY


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=60)
QUOTERS = ("echo {}", "git commit -m {}", "grep {} file.txt", "printf %s {}", "python3 x.py -- {}")


@given(
    st.sampled_from(QUOTERS),
    st.one_of(TEXT, st.sampled_from(DENIED).map(lambda text: f"do not {text}")),
)
def test_quoted_text_in_argument_position_stays_allowed(template: str, text: str) -> None:
    assert decide(template.format(shlex.quote(text))) is Decision.ALLOW


@given(st.sampled_from(DENIED), TEXT)
def test_a_here_document_that_nobody_runs_stays_allowed(command: str, text: str) -> None:
    body = text.replace("\n", " ")
    assert decide(f"cat > notes.md <<'END'\n{command} {body}\nEND\n") is Decision.ALLOW


PIECES = (
    "$( ) ` ' \" { } ${ } $(( )) (( [[ ]] | & ; < > << <<- <<< >( <( \\ # if then fi case in esac "
    ";; do done while for x=( a b=$ $' ! * ? [ ] ~ /.env sudo = += @ % é \ue010"
)
FRAGMENTS = st.lists(
    st.sampled_from([*PIECES.split(), "\n", "\t", "EOF\n"]),
    max_size=40,
).map(" ".join)


@given(st.one_of(st.text(max_size=200), FRAGMENTS, FRAGMENTS.map(lambda t: t.replace(" ", ""))))
def test_no_shell_text_raises_or_exceeds_its_budget(code: str) -> None:
    subject = Subject("shell", code, cwd="/w", home="/home/u")
    evaluate(subject, RULES)
    assert analyse(subject).work <= WORK_PER_BYTE * len(encode(code))


HOST_LANGUAGES = sorted({language.name for language in LANGUAGES} - {"shell"})


@pytest.mark.parametrize("language", HOST_LANGUAGES)
@given(code=st.one_of(st.text(max_size=100), FRAGMENTS))
def test_no_program_raises_or_exceeds_its_budget(language: str, code: str) -> None:
    subject = Subject(language, code, cwd="/w", home="/home/u")
    evaluate(subject, RULES)
    assert analyse(subject).work <= WORK_PER_BYTE * len(encode(code))
