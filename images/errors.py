"""What can go wrong with images: a message says what, a hint says what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Self, TypeVar

import docker
import trio
from docker.errors import DockerException
from requests.exceptions import RequestException

T = TypeVar("T")
ANSWER_S_MAX: Final = 3.0
ALONE_S: Final = 1.0

_REMEDIES: Final = {
    "no space left on device": "Make room where the engine keeps its data; see docker system df",
    "apt-get: not found": "The base must be Debian-like, with apt and dpkg",
    "unable to locate package": "The base's package sources lack it: name another with --base",
    "temporary failure resolving": "The build's network does not reach the package servers: "
    "name another with --network, or set HTTP_PROXY and HTTPS_PROXY",
    "permission denied": "See whether this user may use the engine: context-mode doctor",
    "connection aborted": "The engine went away: see context-mode doctor",
    "connection refused": "The engine went away: see context-mode doctor",
}


class ImageError(Exception):
    """An image could not be made, checked or removed. `output` is what the failing step printed."""

    def __init__(self, message: str, hint: str = "", output: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.output = output

    @classmethod
    def of_engine(cls, error: Exception) -> Self:
        """What the engine, or the way to it, said."""
        said = str(getattr(error, "explanation", None) or error or type(error).__name__)
        return cls(f"the engine failed: {said}", remedy(said))


async def ask(question: Callable[[], T], patience_s: float = ANSWER_S_MAX) -> T:
    """Ask the engine, in a thread.

    Raises:
        ImageError: it does not say, or not in time.
    """
    try:
        with trio.fail_after(patience_s):
            return await trio.to_thread.run_sync(question, abandon_on_cancel=True)
    except trio.TooSlowError as error:
        hint = "See whether docker info works, and restart the engine if not"
        late = f"the container engine does not answer within {patience_s:g} s"
        raise ImageError(late, hint) from error
    except (DockerException, RequestException) as error:
        raise ImageError.of_engine(error) from error


async def wait_for_silence(api: docker.APIClient) -> ImageError:
    """Ping the engine until it no longer answers: no long call of an engine that hangs ends."""
    while True:
        await trio.sleep(ALONE_S)
        try:
            await ask(api.ping)
        except ImageError as error:
            return error


def remedy(text: str) -> str:
    """What helps against a failure that is known by its words."""
    lowered = text.lower()
    return next((hint for words, hint in _REMEDIES.items() if words in lowered), "")
