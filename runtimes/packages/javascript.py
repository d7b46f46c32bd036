"""JavaScript and TypeScript: npm locks with integrity, and unpacks without running scripts.

Where a package has an install script, it runs in the build, which has no network.
"""

from __future__ import annotations

from runtimes.packages.tools import BUN, NODE, NPM, PNPM, YARN, Ecosystem

_LOCK = """\
mkdir "$TMPDIR/work"; cd "$TMPDIR/work"
echo '{"private": true}' > package.json
set --
while IFS= read -r spec; do if [ -n "$spec" ]; then set -- "$@" "$spec"; fi; done < "$IN/wanted"
"$NODE" "$NPM" install --package-lock-only --ignore-scripts --save-exact \\
    --registry "$REGISTRY" ${CUTOFF:+--before "$CUTOFF"} -- "$@" >&2
cp package.json package-lock.json "$OUT"
"""

# Each lock is installed by the client that wrote it. A client that would fetch another of its
# versions, because a manifest says so, is kept from it.
_FETCH = """\
cp -r "$IN" "$TMPDIR/work"; cd "$TMPDIR/work"
"$NODE" "$PROGRAMS/javascript_lock.js" .
call() {
    tool="$1"; shift
    if [ "$(head -c 2 "$tool")" = '#!' ]; then set -- "$NODE" "$tool" "$@"
    else set -- "$tool" "$@"; fi
    "$@" >"$TMPDIR/said" 2>&1 || { cat "$TMPDIR/said" >&2; exit 1; }
}
if [ -f pnpm-lock.yaml ]; then
    call "$PNPM" install --frozen-lockfile --ignore-scripts --ignore-pnpmfile \\
        --config.node-linker=hoisted --config.package-import-method=copy \\
        --config.manage-package-manager-versions=false --config.update-notifier=false \\
        --store-dir "$TMPDIR/store" --registry "$REGISTRY/"
elif [ -f yarn.lock ]; then
    version="$("$NODE" "$YARN" --version)"
    if grep -q '^__metadata:' yarn.lock; then
        case "$version" in
            [01].*) echo "the lock is of yarn 2 or later, and yarn here is $version" >&2; exit 1 ;;
        esac
        export YARN_NPM_REGISTRY_SERVER="$REGISTRY" YARN_UNSAFE_HTTP_WHITELIST='localhost;127.0.0.1'
        export YARN_HTTPS_CA_FILE_PATH="$SSL_CERT_FILE" YARN_HTTPS_PROXY="${HTTPS_PROXY-}"
        call "$YARN" install --immutable --mode=skip-build
    else
        case "$version" in
            [01].*) ;;
            *) echo "the lock is of yarn 1, and yarn here is $version" >&2; exit 1 ;;
        esac
        sed -i "s#https://registry\\.\\(yarnpkg\\.com\\|npmjs\\.org\\)/#$REGISTRY/#" yarn.lock
        call "$YARN" install --frozen-lockfile --ignore-scripts --non-interactive --no-default-rc \\
            --registry "$REGISTRY" --cache-folder "$TMPDIR/store"
    fi
elif [ -f bun.lock ]; then
    call "$BUN" install --frozen-lockfile --ignore-scripts --backend copyfile --linker hoisted \\
        --registry "$REGISTRY" --cache-dir "$TMPDIR/store"
else
    if [ -f npm-shrinkwrap.json ]; then mv npm-shrinkwrap.json package-lock.json; fi
    "$NODE" "$NPM" ci --ignore-scripts --registry "$REGISTRY" >&2
    cp package-lock.json "$OUT"
fi
mkdir -p node_modules
rm -rf node_modules/.modules.yaml node_modules/.pnpm-workspace-state* node_modules/.yarn* \\
    node_modules/.cache
mv node_modules "$OUT/node_modules"
cp package.json "$OUT"
"""

# npm's lock tells where scripts are. Else all manifests are looked at.
_BUILD = """\
if [ -f "$AT/package-lock.json" ]; then
    grep -q '"hasInstallScript": true' "$AT/package-lock.json" || finish
else
    find "$AT/node_modules" \\( -name binding.gyp -print \\) -o \\( -name package.json \\
        -exec grep -lE '"(pre|post)?install"[[:space:]]*:' {} + \\) | grep -q . || finish
fi
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
