mkdir "$OUT/fetched"; cd "$OUT/fetched"
sed '$a\' "$IN/cpan.lock" > "$OUT/cpan.lock"  # the last line ends, too
if grep -Evx '[A-Z]/[A-Z0-9-]{2}/[A-Z0-9-]+(/[A-Za-z0-9_][A-Za-z0-9._+-]*)+ [0-9a-f]{64}' \
    "$OUT/cpan.lock" >&2; then
    echo "the lock holds no digest of these" >&2; exit 1
fi
while read -r path digest; do
    mkdir -p "${path%/*}"
    get "$REGISTRY/authors/id/$path" "$path"
    if ! echo "$digest  $path" | sha256sum -c --quiet >&2; then
        echo "digest mismatch: $path" >&2; exit 1
    fi
    case "$path" in
        *.zip) unzip -Z1 "$path" > "$TMPDIR/names" ;;
        *) tar -tPf "$path" > "$TMPDIR/names" ;;
    esac
    if grep -E '^[/\\]|(^|[/\\])\.\.([/\\]|$)' "$TMPDIR/names" >&2; then
        echo "a name that leads out of its folder: $path" >&2; exit 1
    fi
done < "$OUT/cpan.lock"
