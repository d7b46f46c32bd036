cp "$IN/go.mod" "$IN/go.sum" .
if grep -E '^replace |^[[:space:]]*[^/]* => \.' go.mod >&2; then
    echo "the lock replaces modules by folders of the project" >&2; exit 1
fi
export GOMODCACHE="$OUT/mod"
"$GO" mod download
if ! cmp -s "$IN/go.sum" go.sum; then
    cp go.sum later; grep -vxFf "$IN/go.sum" later >&2 || :
    echo "not all modules have a digest in go.sum" >&2; exit 1
fi
find "$OUT/mod" -name '*.zip' -delete 2>/dev/null || :
mkdir "$OUT/work"
cp "$IN/go.mod" "$IN/go.sum" "$OUT/work"
version="$(sed -n 's/^go //p' go.mod)"
printf 'go %s\n\nuse .\n' "${version:-1.18}" > "$OUT/work/go.work"
chmod -R u+w "$OUT"
