cp -r "$IN" "$TMPDIR/work"; cd "$TMPDIR/work"
"$NODE" "$PROGRAMS/lock.js" .
call() {
    tool="$1"; shift
    if [ "$(head -c 2 "$tool")" = '#!' ]; then set -- "$NODE" "$tool" "$@"
    else set -- "$tool" "$@"; fi
    "$@" >"$TMPDIR/said" 2>&1 || { cat "$TMPDIR/said" >&2; exit 1; }
}
if [ -f pnpm-lock.yaml ]; then
    call "$PNPM" install --frozen-lockfile --ignore-scripts --ignore-pnpmfile \
        --config.node-linker=hoisted --config.package-import-method=copy \
        --config.manage-package-manager-versions=false --config.update-notifier=false \
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
        sed -i "s#https://registry\.\(yarnpkg\.com\|npmjs\.org\)/#$REGISTRY/#" yarn.lock
        call "$YARN" install --frozen-lockfile --ignore-scripts --non-interactive --no-default-rc \
            --registry "$REGISTRY" --cache-folder "$TMPDIR/store"
    fi
elif [ -f bun.lock ]; then
    call "$BUN" install --frozen-lockfile --ignore-scripts --backend copyfile --linker hoisted \
        --registry "$REGISTRY" --cache-dir "$TMPDIR/store"
else
    if [ -f npm-shrinkwrap.json ]; then mv npm-shrinkwrap.json package-lock.json; fi
    "$NODE" "$NPM" ci --ignore-scripts --registry "$REGISTRY" >&2
    cp package-lock.json "$OUT"
fi
mkdir -p node_modules
rm -rf node_modules/.modules.yaml node_modules/.pnpm-workspace-state* node_modules/.yarn* \
    node_modules/.cache
mv node_modules "$OUT/node_modules"
cp package.json "$OUT"
