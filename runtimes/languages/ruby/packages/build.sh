for gem in "$AT"/fetched/*.gem; do
    if [ -e "$gem" ]; then set -- "$@" "$gem"; fi
done
if [ $# -gt 0 ]; then
    "$RUBY" -S gem install --local --force --ignore-dependencies --no-document \
        --install-dir "$OUT" "$@" >&2
fi
rm -rf "$OUT/cache"
