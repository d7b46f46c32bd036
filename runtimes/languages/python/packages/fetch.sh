list="$IN/requirements.txt"
if [ -f "$IN/pylock.toml" ]; then list="$IN/pylock.toml"; fi
if [ -f "$IN/uv.lock" ]; then
    cp -r "$IN" "$TMPDIR/project"
    list="$TMPDIR/requirements.txt"
    (cd "$TMPDIR/project" && "$UV" export --python "$PYTHON" --frozen --no-dev \
        --no-emit-project --offline -q -o "$list" >/dev/null)
fi
for name in poetry.lock pdm.lock Pipfile.lock; do
    if [ -f "$IN/$name" ]; then
        list="$TMPDIR/requirements.txt"
        "$PYTHON" -I -S "$PROGRAMS/lock.py" "$IN/$name" "$REGISTRY" > "$list"
    fi
done
set -- --require-hashes
if [ "$list" = "$IN/pylock.toml" ]; then set --; fi
"$UV" pip install --python "$PYTHON" --target "$OUT" --only-binary :all: "$@" \
    --default-index "$REGISTRY" -r "$list" 2>"$TMPDIR/said" ||
    { cat "$TMPDIR/said" >&2; exit 1; }
# uv leaves out such a name with a warning; its author is not trusted with the rest.
if grep -E "is yanked|unsafe file name" "$TMPDIR/said" >&2; then exit 1; fi
rm -f "$OUT/.lock"
