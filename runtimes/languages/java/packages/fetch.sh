fetch >&2
cp "$IN/packages.lock" "$OUT"
