"""Bodies of requests: whole, and JSON that means one thing to everybody who reads it."""

from __future__ import annotations

from collections.abc import Sequence

import trio
from starlette.types import Message, Receive

from policy.strict_data import strict_json

SMALL_BYTES = 64 * 1024  # parsed in place: well below a millisecond


async def receive_body(receive: Receive, bytes_max: int) -> list[Message]:
    """Receive the messages of a body, up to its end or to more than `bytes_max`."""
    messages: list[Message] = []
    size = 0
    while size <= bytes_max:
        message = await receive()
        messages.append(message)
        size += len(message.get("body", b""))
        if message["type"] != "http.request" or not message.get("more_body", False):
            break
    return messages


async def find_problem(messages: Sequence[Message], bytes_max: int) -> str:
    """Say what is wrong with a body as JSON; nothing of one that is too large or cut off, which is
    refused elsewhere."""
    body = b"".join(message.get("body", b"") for message in messages)
    if len(body) > bytes_max or messages[-1]["type"] != "http.request":
        return ""
    if len(body) <= SMALL_BYTES:
        return _find_problem(body)
    return await trio.to_thread.run_sync(_find_problem, body)


def _find_problem(body: bytes) -> str:
    try:
        value = strict_json(body.decode("utf-8"))
    except RecursionError:
        return (
            "the body is JSON that is nested too deep: send arguments as plain text or flat lists"
        )
    except UnicodeDecodeError as error:
        return f"the body is not UTF-8: {error.reason} at byte {error.start}"
    except ValueError as error:
        return f"the body is not JSON as it is served: {error}"
    if not isinstance(value, dict):
        return "the body is not a JSON object: send one message of JSON-RPC"
    return ""


def replay(messages: Sequence[Message], receive: Receive) -> Receive:
    """Give what was received once more, then what comes."""
    left = list(reversed(messages))

    async def receive_again() -> Message:
        return left.pop() if left else await receive()

    return receive_again
