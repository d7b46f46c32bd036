"""One request becomes one result: guard, place in a sandbox, run, collect, keep."""

from executor.background import Background, Backgrounds, open_backgrounds
from executor.caller import Caller
from executor.errors import RequestError, SandboxError, SandboxUnavailableError
from executor.model import Isolation, Layer, Limits, Request, Result, Status, Stream, Usage
from executor.progress import Completed
from executor.service import Executor, open_executor
from executor.sessions import SessionLimits
from executor.settings import Settings
from executor.toolchains import LanguageReport

__all__ = [
    "Background",
    "Backgrounds",
    "Caller",
    "Completed",
    "Executor",
    "Isolation",
    "LanguageReport",
    "Layer",
    "Limits",
    "Request",
    "RequestError",
    "Result",
    "SandboxError",
    "SandboxUnavailableError",
    "SessionLimits",
    "Settings",
    "Status",
    "Stream",
    "Usage",
    "open_backgrounds",
    "open_executor",
]
