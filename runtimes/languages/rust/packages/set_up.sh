CARGO="${RUSTC%/*}/cargo"
if [ ! -x "$CARGO" ]; then echo "cargo is not beside rustc" >&2; exit 1; fi
mkdir -p "$TMPDIR/work/src"; cd "$TMPDIR/work"
: > src/lib.rs
