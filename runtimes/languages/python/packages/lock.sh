"$UV" pip compile "$IN/wanted" --python "$PYTHON" --generate-hashes --only-binary :all: \
    --default-index "$REGISTRY" ${CUTOFF:+--exclude-newer "$CUTOFF"} \
    --no-header --no-annotate -o "$OUT/requirements.txt" >/dev/null 2>"$TMPDIR/said" ||
    { cat "$TMPDIR/said" >&2; exit 1; }
cat "$TMPDIR/said" >&2
! grep -q "is yanked" "$TMPDIR/said"
