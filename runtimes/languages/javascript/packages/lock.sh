mkdir "$TMPDIR/work"; cd "$TMPDIR/work"
echo '{"private": true}' > package.json
set --
while IFS= read -r spec; do if [ -n "$spec" ]; then set -- "$@" "$spec"; fi; done < "$IN/wanted"
"$NODE" "$NPM" install --package-lock-only --ignore-scripts --save-exact \
    --registry "$REGISTRY" ${CUTOFF:+--before "$CUTOFF"} -- "$@" >&2
cp package.json package-lock.json "$OUT"
