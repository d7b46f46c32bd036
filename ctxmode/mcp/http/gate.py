"""Checks of every HTTP request: Host, Origin, bearer token, and a deadline for the body.

The Streamable HTTP section of the Model Context Protocol requires the checks of Host and Origin.
Host matters because an attacker's name may resolve to the loopback address (DNS rebinding), Origin
because a browser sends requests for any page.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import trio
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from base.strict_data import strict_json
from ctxmode.errors import UsageError, why

SMALL_BYTES = 64 * 1024  # parsed without a thread: well below a millisecond


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
    """Return the problem of a body as JSON, or "". A body that is too large or cut off is refused
    elsewhere."""
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
        return "the body is nested too deeply: send arguments as plain text or flat lists"
    except UnicodeDecodeError as error:
        return f"the body is not UTF-8: {error.reason} at byte {error.start}"
    except ValueError as error:
        return f"the body is not valid JSON: {error}"
    if not isinstance(value, dict):
        return "the body is not a JSON object: send one JSON-RPC message"
    return ""


def replay(messages: Sequence[Message], receive: Receive) -> Receive:
    """Return a `receive` that repeats the messages, then continues with new ones."""
    left = list(reversed(messages))

    async def receive_again() -> Message:
        return left.pop() if left else await receive()

    return receive_again


TOKEN_CHARS_MIN = 20  # RFC 6750 sets no length; 20 characters of base64 are 120 bits
VARIABLE = "CONTEXT_MODE_TOKEN"
NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")


def find_holder(tokens: Mapping[str, str], given: str) -> str | None:
    """Find the holder of a token; the time of the search does not depend on the tokens."""
    found = None
    for token, name in tokens.items():
        if hmac.compare_digest(token.encode(), given.encode()):
            found = name
    return found


def load_tokens(
    file: Path | None, environ: Mapping[str, str], default: Path
) -> tuple[Mapping[str, str], str]:
    """Load tokens from `file`, else from CONTEXT_MODE_TOKEN, else from `default`, created if
    missing. A line is a token, or a name and a token. Return the names by token, and their file or
    variable. Raise UsageError if a token is too short, or others can read the file."""
    if file is not None:
        return _read(file), str(file)
    if given := environ.get(VARIABLE):
        return _parse(given, VARIABLE), VARIABLE
    try:
        fd = os.open(default, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return _read(default), str(default)
    with os.fdopen(fd, "w") as made:
        made.write(f"{secrets.token_urlsafe(32)}\n")
    return _read(default), str(default)


def _read(file: Path) -> dict[str, str]:
    try:
        mode = file.stat().st_mode
        text = file.read_text("utf-8")
    except (OSError, ValueError) as error:
        raise UsageError(
            f"cannot read {file}: {why(error)}", "Give a file with one token per line."
        ) from error
    if mode & 0o077:
        raise UsageError(f"other users can read {file}", f"Run: chmod 600 {file}")
    return _parse(text, str(file))


def _parse(text: str, place: str) -> dict[str, str]:
    names: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        if not words or line.startswith("#"):
            continue
        name, token = words if len(words) == 2 else ("default", words[0])
        if len(words) > 2 or not NAME.fullmatch(name):
            raise UsageError(f"{place}:{number}: not a token", "Write TOKEN, or NAME and TOKEN.")
        if len(token) < TOKEN_CHARS_MIN or not token.isascii():
            raise UsageError(
                f"{place}:{number}: a token needs at least {TOKEN_CHARS_MIN} ASCII characters",
                "Make one with: python3 -c 'import secrets; print(secrets.token_urlsafe(32))'",
            )
        names[token] = name
    if not names:
        raise UsageError(f"{place} has no token", "Add one on a separate line.")
    return names


BODY_S_MAX = 30.0
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
OPEN_PATHS = ("/healthz",)
# With two such headers, this program could read one and a proxy before it the other.
SENT_ONCE = (
    *("host", "origin", "authorization", "content-type"),
    *("mcp-session-id", "mcp-protocol-version"),
)


def _without_port(given: str) -> str:
    head, colon, port = given.rpartition(":")
    return head if colon and port.isdigit() else given


class Gate:
    """ASGI app that admits requests with one of the tokens, and refuses all others.

    Tokens have names; hosts are names without a port; origins are complete.
    """

    def __init__(
        self,
        app: ASGIApp,
        tokens: Mapping[str, str],
        hosts: Collection[str],
        origins: Collection[str] = (),
    ) -> None:
        self._app = app
        self._tokens = tokens
        self._hosts = hosts
        self._origins = origins

    def _admits_host(self, given: str) -> bool:
        """Return whether this Host, with or without a port, is served."""
        return _without_port(given).lower() in self._hosts

    def _admits_origin(self, given: str) -> bool:
        """Return whether pages of this origin may send requests: allowed ones, and this
        machine's."""
        scheme, _, rest = given.partition("://")
        local = scheme in ("http", "https") and _without_port(rest).lower() in LOOPBACK
        return given in self._origins or local

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            return  # websockets are not served
        headers = Headers(scope=scope)
        if refusal := self._refusal(scope, headers):
            await refusal(scope, receive, send)
            return
        await self._app(scope, _limit_time(receive), send)

    def _refusal(self, scope: Scope, headers: Headers) -> JSONResponse | None:
        # `connections` has checked the length of the body.
        if twice := next((name for name in SENT_ONCE if len(headers.getlist(name)) > 1), None):
            return _refuse(400, f"the header {twice} is sent more than once; send it once")
        if not self._admits_host(headers.get("host", "")):
            return _refuse(421, "this Host is not allowed; add it with --allow-host NAME")
        origin = headers.get("origin")
        if origin is not None and not self._admits_origin(origin):
            return _refuse(403, "this Origin is not allowed; add it with --allow-origin ORIGIN")
        if scope["path"] in OPEN_PATHS:
            return None
        scheme, _, token = headers.get("authorization", "").partition(" ")
        name = find_holder(self._tokens, token.strip()) if scheme.lower() == "bearer" else None
        if name is None:
            answer = _refuse(401, "a bearer token is required: Authorization: Bearer TOKEN")
            answer.headers["WWW-Authenticate"] = 'Bearer realm="context-mode"'
            return answer
        access = AccessToken(token="", client_id=name, scopes=[])
        scope["user"] = AuthenticatedUser(access)
        return None


def _refuse(status: int, reason: str) -> JSONResponse:
    return JSONResponse({"error": reason}, status)


def _limit_time(receive: Receive) -> Receive:
    """Wrap `receive` so that it disconnects if the body is not complete in BODY_S_MAX."""
    deadline = trio.current_time() + BODY_S_MAX
    complete = False

    async def receive_in_time() -> Message:
        nonlocal complete
        if complete:
            return await receive()
        with trio.move_on_at(deadline):
            message = await receive()
            complete = message["type"] != "http.request" or not message.get("more_body", False)
            return message
        complete = True
        return {"type": "http.disconnect"}

    return receive_in_time
