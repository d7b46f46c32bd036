mkdir -p "$OUT/lib/perl5"
set --
while read -r path _; do set -- "$@" "$AT/fetched/$path"; done < "$AT/cpan.lock"
if [ $# -eq 0 ]; then finish; fi
install() {
    "$PERL" "$CPANM" --local-lib-contained "$OUT" --notest --no-interactive \
        --mirror-only --mirror "file://$TMPDIR/none" "$@" </dev/null >"$TMPDIR/said" 2>&1
}
if ! install "$@"; then
    # A requirement that only a Makefile.PL has may have been built after it.
    if ! grep -q "Couldn't find module" "$TMPDIR/said" || ! install "$@"; then
        tail -n 20 "$PERL_CPANM_HOME/build.log" >&2
        grep '^!' "$TMPDIR/said" >&2
        exit 1
    fi
fi
rm -rf "$OUT/man"
