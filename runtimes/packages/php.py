"""PHP: composer locks; what it names is pinned, downloaded by digest, and unpacked offline.

Composer's plugins and scripts never run. A distribution's own composer lies in parts below /usr.
"""

from __future__ import annotations

from runtimes.packages.programs import read_program
from runtimes.packages.tools import COMPOSER, Ecosystem

_COMPOSER = """\
at="$COMPOSER"; unset COMPOSER  # which to composer is the name of a manifest
if [ -f /usr/share/php/Composer/autoload.php ]; then at=/usr/bin/composer; fi
composer() { "$PHP" "$at" "$@" --no-scripts --no-plugins --no-interaction --no-progress >&2; }
"""

# What lock and fetch share: a file of a registry, and the packages of a lock that come from one.
_SHARED = read_program("php_shared.sh")

_LOCK = _COMPOSER + _SHARED + read_program("php_lock.sh")

# The names in an archive of zip's are those of the directory at its end.
_FETCH = _SHARED + read_program("php_fetch.sh")

_BUILD = _COMPOSER + read_program("php_build.sh")

_PART = r"[A-Za-z0-9](?:[_.-]?[A-Za-z0-9]){0,80}"
_VERSION = r"(?:\^|~|>=|<=|!=|[<>=])?v?[0-9][A-Za-z0-9.*-]{0,40}(?:@[a-z]{2,6})?"

PHP = Ecosystem(
    name="php",
    title="PHP",
    languages=("php",),
    registry="https://repo.packagist.org",
    hosts=("api.github.com", "codeload.github.com"),
    spec=rf"{_PART}/{_PART}(?::{_VERSION}(?:(?:,|\|\|){_VERSION}){{0,3}})?",
    lock=_LOCK,
    fetch=_FETCH,
    build=_BUILD,
    at="/packages/php",
    # The opening colon keeps the default folder.
    env={"PHP_INI_SCAN_DIR": ":/packages/php/ini"},
    lock_name="composer.lock",
    locked_by='"sha256": "',
    wanted_files=("composer.lock",),
    tools=(COMPOSER,),
    complaints=(
        (r"digest mismatch", "a file is not what the lock's digest says"),
        (r"holds no digest", "there is no digest of it"),
        (r"of no registry|from no registry", "the lock holds what comes from no registry"),
        (r"leads out of", "an archive holds a name that leads out of its folder"),
        (
            r"could not be found in any version|not found, it could not|404 Not Found",
            "there is no such package",
        ),
        (r"could not be resolved", "no versions fit together"),
        (r"unzip/7z commands are both missing", "unpacking needs unzip, which is missing"),
        (
            r"not a zip|the lock is damaged|(?i:corrupt|invalid zip)|cannot find zipfile",
            "an archive is damaged",
        ),
    ),
    extra_env={
        "COMPOSER_HOME": "{scratch}/.composer",
        "COMPOSER_CACHE_DIR": "{scratch}/.composer-cache",
        "COMPOSER_ALLOW_SUPERUSER": "1",
        "COMPOSER_NO_AUDIT": "1",
        "COMPOSER_FUND": "0",
    },
    cooldown=False,
    pinned_here=True,
)
