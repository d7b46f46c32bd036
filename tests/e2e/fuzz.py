"""Bodies that are almost messages of the protocol."""

import json


def fuzzed(generator):
    """Something like a message: a good one with parts replaced, or bytes."""
    junk = [None, True, -1, 1e400, "", "\udcff", "x" * 5000, [], {}, [[]], {"a": {"b": []}}]
    message = {
        "jsonrpc": generator.choice(["2.0", "1.0", 2, None]),
        "id": generator.choice([1, "a", None, 1.5, -(2**70), [], {}]),
        "method": generator.choice(
            ["ping", "initialize", "tools/list", "tools/call", "resources/read", "x/y", "", 7, None]
        ),
        "params": {
            "name": generator.choice(["ctx_search", "ctx_index", "nothing", *junk]),
            "arguments": {
                generator.choice(["queries", "path", "content", ""]): generator.choice(junk)
            },
            "protocolVersion": generator.choice(["2025-06-18", "1", *junk]),
            "_meta": generator.choice([{"progressToken": 1}, *junk]),
        },
    }
    for name in generator.sample(sorted(message), generator.randrange(3)):
        message[name] = generator.choice(junk)
    body = json.dumps(message).encode()
    match generator.randrange(4):
        case 0:
            return body[: generator.randrange(len(body))]
        case 1:
            at = generator.randrange(len(body))
            return body[:at] + generator.randbytes(3) + body[at + 1 :]
        case _:
            return body
