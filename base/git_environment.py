"""What git is run with where no configuration, attribute or prompt of anybody's may count."""

from __future__ import annotations

from collections.abc import Mapping

GIT_PATH = "/usr/local/bin:/usr/bin:/bin"
ISOLATED: Mapping[str, str] = {
    "PATH": GIT_PATH,
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
"""The whole environment; who runs git adds what its task needs."""

UNATTENDED: Mapping[str, str] = {
    **ISOLATED,
    "GIT_ASKPASS": "/bin/false",
    "SSH_ASKPASS": "/bin/false",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
}
"""The same, where git is run upon paths as they are, and nothing may be asked or replaced."""

NEUTRAL_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    "core.pager=cat",
    "color.ui=false",
    "credential.helper=",
    "log.showSignature=false",
    "log.mailmap=false",
    "log.follow=false",
    "i18n.logOutputEncoding=UTF-8",
)
"""What overrules a repository's own settings, each behind `-c`: they start programs, or change what
is printed."""
