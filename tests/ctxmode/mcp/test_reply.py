"""What a call counts as produced."""

import pytest

from ctxmode.mcp.reply import background_reply, count_produced_bytes
from executor import Background
from executor.model import Isolation, Result, Status, Stream
from executor.run.output_routing import Answer, KeptOutput
from kb import Indexed

MIB = 1024 * 1024
SMALL = Stream("hello\n", "", 6, 1)
LARGE = Stream("first\n", "last\n", 64 * MIB, 9000, 64 * MIB - 11, 8998)


def answer(stdout, stored=None, status=Status.OK):
    indexed = Indexed(1, "out-1/stdout", 1, "log", None, 1, 4096, stored or 0, True)
    kept = stored and KeptOutput("out-1", {"stdout": indexed})
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


@pytest.mark.parametrize(("is_first", "produced"), [(True, 64 * MIB + 6), (False, 0)])
def test_a_run_in_the_background_is_counted_with_its_first_answer_alone(is_first, produced):
    given = answer(LARGE, 64 * MIB)
    ended = Background("bg-1", "a", running=False, wall_s=2.0, answer=given, is_first=is_first)
    assert background_reply(ended).produced == produced
