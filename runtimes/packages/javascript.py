"""JavaScript and TypeScript: npm locks with integrity, and unpacks without running scripts.

Where a package has an install script, it runs in the build, which has no network.
"""

from __future__ import annotations

from runtimes.packages.programs import read_program
from runtimes.packages.tools import BUN, NODE, NPM, PNPM, YARN, Ecosystem

_LOCK = read_program("javascript_lock.sh")

# Each lock is installed by the client that wrote it. A client that would fetch another of its
# versions, because a manifest says so, is kept from it.
_FETCH = read_program("javascript_fetch.sh")

# npm's lock tells where scripts are. Else all manifests are looked at.
_BUILD = read_program("javascript_build.sh")

_PART = r"[a-z0-9~][a-z0-9._~-]{0,100}"

JAVASCRIPT = Ecosystem(
    name="javascript",
    title="JavaScript",
    languages=("javascript", "typescript"),
    registry="https://registry.npmjs.org",
    hosts=(),
    spec=rf"(?:@{_PART}/)?{_PART}(?:@[\^~]?[A-Za-z0-9.*+-]{{1,64}})?",
    lock=_LOCK,
    fetch=_FETCH,
    build=_BUILD,
    at="/packages/javascript",
    env={"NODE_PATH": "/node_modules"},
    lock_name="package-lock.json",
    lock_files=(
        *(("package-lock.json", "package.json"), ("npm-shrinkwrap.json", "package.json")),
        *(("pnpm-lock.yaml", "package.json"), ("yarn.lock", "package.json")),
        ("bun.lock", "package.json"),
    ),
    # Packages resolve from the program's own folder upwards: whatever is nearer comes first.
    shown=(("node_modules", "/node_modules"),),
    tools=(NODE, NPM),
    lock_tools={"pnpm-lock.yaml": PNPM, "yarn.lock": YARN, "bun.lock": BUN},
    programs=("javascript_lock.js",),
    missing=(
        rf"Cannot find (?:module|package) ['\"]((?:@{_PART}/)?{_PART})['\"/]"
        rf"|(?:Import|import path) \"((?:@{_PART}/)?{_PART})(?:/[^\"]*)?\" not (?:a dep|prefixed)"
    ),
    complaints=(
        (
            r"EINTEGRITY|TARBALL_INTEGRITY|Integrity check failed|YN0018",
            "a file is not what the lock's digest says",
        ),
        (r"the lock is not taken: ", "the lock is not taken as it is"),
        (r"yarn here is ", "the lock is of another yarn than the one that is here"),
        (r"corepack", "the client is corepack's, which would have to fetch it: install the client"),
        (
            r"OUTDATED_LOCKFILE|LOCKFILE_CONFIG_MISMATCH|YN0028|lockfile needs to be updated"
            r"|lockfile (?:had|has) changes",
            "the lock does not fit the package.json beside it: lock it anew",
        ),
        (r"E404|ETARGET|ENOVERSIONS", "there is no such package or version"),
        (r"ERESOLVE", "no versions fit together"),
        (r"TAR_|zlib|Z_DATA_ERROR", "an archive is damaged"),
        (
            r"npm (?:error|ERR!) command (?:sh|failed)",
            "an install script failed, which has no network",
        ),
    ),
    extra_env={
        "YARN_ENABLE_GLOBAL_CACHE": "false",
        "YARN_ENABLE_TELEMETRY": "0",
        "YARN_IGNORE_PATH": "1",
        "YARN_NODE_LINKER": "node-modules",
        "SKIP_YARN_COREPACK_CHECK": "1",
        "npm_config_cache": "{scratch}/.npm",
        "npm_config_audit": "false",
        "npm_config_fund": "false",
        "npm_config_update_notifier": "false",
        "npm_config_fetch_retries": "0",
        "npm_config_fetch_timeout": "60000",
        "npm_config_loglevel": "warn",
        "npm_config_progress": "false",
    },
)
