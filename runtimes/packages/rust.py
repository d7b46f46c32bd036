"""Rust: cargo locks and fetches; crates are compiled, with their build scripts, without network.

Programs are compiled by rustc alone. So the layer holds one that knows the crates.
"""

from __future__ import annotations

from runtimes.packages.tools import Ecosystem, Tool

_SET_UP = """\
CARGO="${RUSTC%/*}/cargo"
if [ ! -x "$CARGO" ]; then echo "cargo is not beside rustc" >&2; exit 1; fi
mkdir -p "$TMPDIR/work/src"; cd "$TMPDIR/work"
: > src/lib.rs
"""

_REGISTRY = """\
mkdir -p "$CARGO_HOME"
cat > "$CARGO_HOME/config.toml" <<END
[source.crates-io]
replace-with = "named"
[source.named]
registry = "sparse+$REGISTRY/"
[http]
cainfo = "$SSL_CERT_FILE"
END
"""

_LOCK = (
    _SET_UP
    + _REGISTRY
    + """\
printf '[package]\\nname = "packages"\\nversion = "0.0.0"\\nedition = "2021"\\n[dependencies]\\n' \\
    > Cargo.toml
while IFS= read -r spec; do
    case "$spec" in
        "") ;;
        *@*) printf '%s = "%s"\\n' "${spec%@*}" "${spec#*@}" >> Cargo.toml ;;
        *) printf '%s = "*"\\n' "$spec" >> Cargo.toml ;;
    esac
done < "$IN/wanted"
"$CARGO" generate-lockfile
cp Cargo.toml Cargo.lock "$OUT"
"""
)

# A project's own manifest has targets that are not here: its dependencies are what counts.
_FETCH = (
    _SET_UP
    + """\
export CARGO_HOME="$OUT/cargo"
"""
    + _REGISTRY
    + """\
cp "$IN/Cargo.toml" "$IN/Cargo.lock" .
if grep -E '^source = "(git|path)|^source = "registry\\+' Cargo.lock |
    grep -v 'registry+https://github.com/rust-lang/crates.io-index"' >&2; then
    echo "the lock holds crates of no registry" >&2; exit 1
fi
"$CARGO" fetch --locked
cp Cargo.toml Cargo.lock "$OUT"
"""
)

_BUILD = (
    _SET_UP
    + """\
cp "$AT/Cargo.toml" "$AT/Cargo.lock" .
cp -r "$AT/cargo" "$TMPDIR/cargo"
export CARGO_HOME="$TMPDIR/cargo" CARGO_TARGET_DIR="$TMPDIR/target"
"$CARGO" build --release --offline --locked --message-format=json > "$TMPDIR/made"
mkdir -p "$OUT/deps" "$OUT/bin"
cd "$CARGO_TARGET_DIR/release"
find deps \\( -name '*.rlib' -o -name '*.so' \\) ! -name 'libpackages-*' -exec cp {} "$OUT/deps" \\;
find build \\( -name '*.a' -o -name '*.so' \\) -exec cp {} "$OUT/deps" \\;
cd "$TMPDIR/work"
{
    printf '%s\\n' -L "dependency=$AT/deps" -L "native=$AT/deps"
    "$CARGO" tree --offline --locked --depth 1 --prefix none -f '{lib} {p}' 2>/dev/null |
        sed 1d | sort -u | while read -r lib name version _; do
        file="$(grep -E "#($name@)?${version#v}\\"" "$TMPDIR/made" |
            grep -o "/lib$lib-[^\\"/]*\\.\\(rlib\\|so\\)\\"" | head -n 1)"
        if [ -n "$file" ]; then
            file="${file#/}"; printf '%s\\n' --extern "$lib=$AT/deps/${file%?}"
        fi
    done
} > "$OUT/args"
printf '#!/bin/sh\\nexec "%s" "$@" "@%s/args"\\n' "$RUSTC" "$AT" > "$OUT/bin/rustc"
chmod 755 "$OUT/bin/rustc"
"""
)

RUST = Ecosystem(
    name="rust",
    title="Rust",
    languages=("rust",),
    registry="https://index.crates.io",
    hosts=("static.crates.io",),
    spec=r"[A-Za-z][A-Za-z0-9_-]{0,63}(?:@[\^~=]?[0-9][A-Za-z0-9.+*-]{0,40})?",
    lock=_LOCK,
    fetch=_FETCH,
    build=_BUILD,
    at="/packages/rust",
    env={},
    paths={"rustc": "/packages/rust/bin/rustc"},
    lock_name="Cargo.lock",
    lock_files=(("Cargo.lock", "Cargo.toml"),),
    missing=(
        r"can't find crate for `([a-z]\w*)`|undeclared crate or module `([a-z]\w*)`"
        r"|unlinked crate `([a-z]\w*)`"
    ),
    complaints=(
        (
            r"failed to verify the checksum|changed between lock files",
            "a file is not what the lock's digest says",
        ),
        (r"of no registry", "the lock holds what comes from no registry"),
        (r"cargo is not beside", "cargo is missing beside rustc"),
        (r"is yanked", "a release was withdrawn (yanked)"),
        (
            r"no matching package|failed to select a version|not found in registry",
            "there is no such crate or version",
        ),
        (r"failed to unpack|invalid tarball", "an archive is damaged"),
        (r"could not compile|failed to run custom build", "it was not compiled without network"),
    ),
    beside=(Tool("cargo", "install cargo, by the same way as rustc"),),
    extra_env={
        "CARGO_HOME": "{scratch}/cargo-home",
        "CARGO_NET_RETRY": "1",
        "CARGO_TERM_PROGRESS_WHEN": "never",
    },
    cooldown=False,
)
