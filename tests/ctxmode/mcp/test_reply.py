"""What a call counts as produced."""

import pytest

from ctxmode.app import App
from ctxmode.mcp.reply import background_reply, count_produced_bytes
from executor import Background
from executor.model import Isolation, Result, Status, Stream
from executor.run.output_routing import Answer, KeptOutput, KeptStream

MIB = 1024 * 1024
SMALL = Stream("hello\n", "", 6, 1)
LARGE = Stream("first\n", "last\n", 64 * MIB, 9000, 64 * MIB - 11, 8998)


def answer(stdout, stored=None, status=Status.OK):
    kept = stored and KeptOutput("out-1", (KeptStream("stdout", 1, "out-1/stdout", stored, 4096),))
    result = Result(status, stdout=stdout, stderr=SMALL, isolation=Isolation("A"))
    return Answer(result, kept)


@pytest.mark.parametrize(
    ("given", "produced"),
    [
        (answer(SMALL), 6 + 6),
        (answer(LARGE, 64 * MIB), 64 * MIB + 6),
        (answer(LARGE, MIB), MIB + 6),  # the rest was drained: counted and discarded
        (answer(LARGE), 11 + 6),  # it could not be stored
        (answer(LARGE, 64 * MIB, Status.OUTPUT_LIMIT), 11 + 6),  # a flood
        (answer(LARGE, 64 * MIB, Status.TIMED_OUT), 64 * MIB + 6),
    ],
    ids=["small", "stored", "drained", "not stored", "flood", "late"],
)
def test_what_was_thrown_away_is_not_counted_as_produced(given, produced):
    assert count_produced_bytes(given) == produced


def test_a_run_in_the_background_is_counted_with_its_first_answer_alone(config):
    app = App(config, None, None, None)
    running = Background("bg-1", "a", running=True, wall_s=1.0)
    ended = Background("bg-1", "a", running=False, wall_s=2.0, answer=answer(LARGE, 64 * MIB))
    looks = [running, ended, ended]
    replies = [background_reply(one, is_first=app.is_first_answer(one)) for one in looks]
    assert [reply.produced for reply in replies] == [0, 64 * MIB + 6, 0]
