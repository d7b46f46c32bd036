"""Which languages exist, how each is started, compiled and probed. Data first."""

from runtimes.choice import choose
from runtimes.discovery import Discovery, candidates, discover, missing, parse_version, version_argv
from runtimes.install import debian_packages, hint, install_script, npm_packages
from runtimes.model import (
    Candidate,
    Driver,
    Language,
    Missing,
    PrewarmPlan,
    ProbeResult,
    Program,
    Step,
)
from runtimes.prewarming import as_helper, helper
from runtimes.program import completion, conversing, driver, driver_program, heeds, prepare, reaches
from runtimes.registry import LANGUAGES, UnknownLanguage, language, language_for_file

__all__ = [
    "LANGUAGES",
    "Candidate",
    "Discovery",
    "Driver",
    "Language",
    "Missing",
    "PrewarmPlan",
    "ProbeResult",
    "Program",
    "Step",
    "UnknownLanguage",
    "as_helper",
    "candidates",
    "choose",
    "completion",
    "conversing",
    "debian_packages",
    "discover",
    "driver",
    "driver_program",
    "heeds",
    "helper",
    "hint",
    "install_script",
    "language",
    "language_for_file",
    "missing",
    "npm_packages",
    "parse_version",
    "prepare",
    "reaches",
    "version_argv",
]
