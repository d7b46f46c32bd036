mkdir "$OUT/fetched"; cd "$OUT/fetched"
sed '$a\' "$IN/rocks.lock" > "$OUT/rocks.lock"  # the last line ends, too
if grep -Evx '[A-Za-z0-9][A-Za-z0-9._-]* [A-Za-z0-9._-]+ (src|all) [0-9a-f]{64}' \
    "$OUT/rocks.lock" >&2; then
    echo "the lock holds no digest of these" >&2; exit 1
fi
while read -r name version form digest; do
    rock="$name-$version.$form.rock"
    get "$REGISTRY/$rock" "$rock"
    if ! echo "$digest  $rock" | sha256sum -c --quiet >&2; then
        echo "digest mismatch: $rock" >&2; exit 1
    fi
    unzip -Z1 "$rock" > "$TMPDIR/names"
    if grep -E '^[/\\]|(^|[/\\])\.\.([/\\]|$)' "$TMPDIR/names" >&2; then
        echo "a name that leads out of its folder: $rock" >&2; exit 1
    fi
done < "$OUT/rocks.lock"
