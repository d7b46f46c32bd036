cat > read.exs <<'END'
@elixir/packages/read.exs@END
cp "$IN/mix.lock" .
"$ELIXIR" read.exs mix.lock > dependencies
declare_project < dependencies
: >> digests
"$MIX" deps.get >&2
# Hex compares with the registry's present digests, and this with the lock.
mkdir -p "$HEX_HOME/packages/hexpm"
(cd "$HEX_HOME/packages/hexpm" && sha256sum --quiet -c "$TMPDIR/work/digests" >&2)
if [ "$(ls "$HEX_HOME/packages/hexpm" | wc -l)" != "$(wc -l < digests)" ]; then
    ls "$HEX_HOME/packages/hexpm" >&2
    echo "the lock holds no digest of one of these" >&2; exit 1
fi
if [ -d deps ]; then cp -r deps "$OUT/deps"; fi
cp mix.exs mix.lock "$OUT"
