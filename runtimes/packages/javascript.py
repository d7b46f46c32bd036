"""JavaScript and TypeScript: npm locks with integrity, and unpacks without running scripts.

Where a package has an install script, it runs in the build, which has no network.
"""

from __future__ import annotations

from runtimes.packages.model import Ecosystem
from runtimes.packages.tools import NODE, NPM

_LOCK = """\
mkdir "$TMPDIR/work"; cd "$TMPDIR/work"
echo '{"private": true}' > package.json
set --
while IFS= read -r spec; do if [ -n "$spec" ]; then set -- "$@" "$spec"; fi; done < "$IN/wanted"
"$NODE" "$NPM" install --package-lock-only --ignore-scripts --save-exact \\
    --registry "$REGISTRY" ${CUTOFF:+--before "$CUTOFF"} -- "$@" >&2
cp package.json package-lock.json "$OUT"
"""

# Without a digest npm would take whatever it is given.
_CHECK = """\
const { packages } = JSON.parse(require("fs").readFileSync("package-lock.json", "utf8"));
if (!packages) throw new Error("the lock is of an npm before 7: lock it anew");
for (const [path, entry] of Object.entries(packages)) {
  if (!path.startsWith("node_modules/") && !path.includes("/node_modules/")) {
    if (path !== "") throw new Error(`${path} is a folder of the project, not of a registry`);
  } else if (entry.link || (!entry.integrity && !entry.inBundle))
    throw new Error(`${path} has no digest in the lock: ${entry.resolved ?? "a link"}`);
}
"""

_FETCH = f"""\
cp -r "$IN" "$TMPDIR/work"; cd "$TMPDIR/work"
if [ -f npm-shrinkwrap.json ]; then mv npm-shrinkwrap.json package-lock.json; fi
"$NODE" -e '{_CHECK}'
"$NODE" "$NPM" ci --ignore-scripts --registry "$REGISTRY" >&2
mkdir -p node_modules
mv node_modules "$OUT/node_modules"
cp package.json package-lock.json "$OUT"
"""

_BUILD = """\
grep -q '"hasInstallScript": true' "$AT/package-lock.json" || finish
cp -r "$AT/." "$OUT"; cd "$OUT"
"$NODE" "$NPM" rebuild --foreground-scripts >&2
"""

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
    lock_files=(("package-lock.json", "package.json"), ("npm-shrinkwrap.json", "package.json")),
    # Packages resolve from the program's own folder upwards: whatever is nearer comes first.
    shown=(("node_modules", "/node_modules"),),
    tools=(NODE, NPM),
    missing=(
        rf"Cannot find (?:module|package) ['\"]((?:@{_PART}/)?{_PART})['\"/]"
        rf"|(?:Import|import path) \"((?:@{_PART}/)?{_PART})(?:/[^\"]*)?\" not (?:a dep|prefixed)"
    ),
    complaints=(
        (r"EINTEGRITY", "a file is not what the lock's digest says"),
        (r"has no digest in the lock|is a folder of the project", "the lock does not hold it"),
        (r"E404|ETARGET|ENOVERSIONS", "there is no such package or version"),
        (r"ERESOLVE", "no versions fit together"),
        (r"TAR_|zlib|Z_DATA_ERROR", "an archive is damaged"),
        (r"npm error command (?:sh|failed)", "an install script failed, which has no network"),
    ),
    extra_env={
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
