cp -rs "$AT/." "$OUT"
"$PYTHON" -I -S -m compileall -q -j 0 -x '/tests/' --invalidation-mode unchecked-hash \
    -s "$OUT" -p "$AT" "$OUT" >/dev/null 2>&1 || true
find "$OUT" -type l -delete
find "$OUT" -mindepth 1 -type d -empty -delete
