cp "$IN/Cargo.toml" "$IN/Cargo.lock" .
if grep -E '^source = "(git|path)|^source = "registry\+' Cargo.lock |
    grep -v 'registry+https://github.com/rust-lang/crates.io-index"' >&2; then
    echo "the lock holds crates of no registry" >&2; exit 1
fi
"$CARGO" fetch --locked
cp Cargo.toml Cargo.lock "$OUT"
