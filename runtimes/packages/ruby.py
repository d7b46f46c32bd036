"""Ruby: RubyGems resolves, the registry's index gives digests; gems are built without network."""

from __future__ import annotations

from runtimes.packages.programs import read_program
from runtimes.packages.tools import Ecosystem

# The public registry has its index under a name of its own.
_LOCK = read_program("ruby_lock.sh")

_FETCH = read_program("ruby_fetch.sh")

_BUILD = read_program("ruby_build.sh")

RUBY = Ecosystem(
    name="ruby",
    title="Ruby",
    languages=("ruby",),
    registry="https://rubygems.org",
    hosts=("index.rubygems.org",),
    spec=r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}(?::(?:~>|>=|<=|[<>=])?\s?[0-9A-Za-z.]{1,40}"
    r"(?:,(?:~>|>=|<=|[<>=])?\s?[0-9A-Za-z.]{1,40}){0,3})?",
    lock=_LOCK,
    fetch=_FETCH,
    build=_BUILD,
    at="/packages/ruby",
    env={"GEM_PATH": "/packages/ruby:"},  # the closing colon keeps the default paths
    lock_name="gems.lock",
    lock_files=(("Gemfile.lock",),),
    missing=r"cannot load such file -- ([a-z0-9_][\w-]*)",
    complaints=(
        (r"digest mismatch", "a file is not what the lock's digest says"),
        (r"holds no digest|gives no digest", "there is no digest of it"),
        (r"of no registry", "the lock holds what comes from no registry"),
        (r"bad response Not Found 404|Unable to resolve|unable to find", "there is no such gem"),
        (r"conflicting dependencies", "no versions fit together"),
        (r"Failed to build gem native extension", "an extension was not built without network"),
        (r"leads out of|escapes|package corrupt|metadata not found", "an archive is damaged"),
    ),
    extra_env={"GEM_HOME": "{scratch}/gems", "GEM_SPEC_CACHE": "{scratch}/specs"},
    cooldown=False,
)
