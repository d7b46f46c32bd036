"""Configuration files: what may stand in them, where each value comes from, who may loosen what."""

from ctxmode.configuration.files import PROJECT_FILE, USER_FILE, ConfigFile, parse, read
from ctxmode.configuration.settings import SETTINGS, Configured, Setting, load_settings

__all__ = [
    "PROJECT_FILE",
    "SETTINGS",
    "USER_FILE",
    "ConfigFile",
    "Configured",
    "Setting",
    "load_settings",
    "parse",
    "read",
]
