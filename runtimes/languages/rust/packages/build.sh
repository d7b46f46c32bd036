cp "$AT/Cargo.toml" "$AT/Cargo.lock" .
cp -r "$AT/cargo" "$TMPDIR/cargo"
export CARGO_HOME="$TMPDIR/cargo" CARGO_TARGET_DIR="$TMPDIR/target"
"$CARGO" build --release --offline --locked --message-format=json > "$TMPDIR/made"
mkdir -p "$OUT/deps" "$OUT/bin"
cd "$CARGO_TARGET_DIR/release"
find deps \( -name '*.rlib' -o -name '*.so' \) ! -name 'libpackages-*' -exec cp {} "$OUT/deps" \;
find build \( -name '*.a' -o -name '*.so' \) -exec cp {} "$OUT/deps" \;
cd "$TMPDIR/work"
{
    printf '%s\n' -L "dependency=$AT/deps" -L "native=$AT/deps"
    "$CARGO" tree --offline --locked --depth 1 --prefix none -f '{lib} {p}' 2>/dev/null |
        sed 1d | sort -u | while read -r lib name version _; do
        file="$(grep -E "#($name@)?${version#v}\"" "$TMPDIR/made" |
            grep -o "/lib$lib-[^\"/]*\.\(rlib\|so\)\"" | head -n 1)"
        if [ -n "$file" ]; then
            file="${file#/}"; printf '%s\n' --extern "$lib=$AT/deps/${file%?}"
        fi
    done
} > "$OUT/args"
printf '#!/bin/sh\nexec "%s" "$@" "@%s/args"\n' "$RUSTC" "$AT" > "$OUT/bin/rustc"
chmod 755 "$OUT/bin/rustc"
