"""Output as it comes."""

import io
import os

import pytest
import trio

from ctxmode.render.terminal_output import LiveOutput


async def test_each_stream_gets_its_own_bytes_in_order():
    out, err = io.BytesIO(), io.BytesIO()
    async with LiveOutput.open(out, err) as output:
        for number in range(100):
            output.feed("stdout", b"%d\n" % number)
        output.feed("stderr", b"\xff\x00")
    assert out.getvalue() == b"".join(b"%d\n" % number for number in range(100))
    assert err.getvalue() == b"\xff\x00"


async def test_a_reader_that_has_left_ends_the_run():
    reader, writer = os.pipe()
    os.close(reader)
    closed = io.FileIO(writer, "wb")

    async def print_for_ever():
        async with LiveOutput.open(closed, io.BytesIO()) as output:
            output.feed("stdout", b"x")
            await trio.sleep_forever()

    with trio.fail_after(60), pytest.raises(ExceptionGroup) as caught:
        await print_for_ever()
    assert caught.group_contains(BrokenPipeError)
    closed.close()
