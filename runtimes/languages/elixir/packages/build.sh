export HEX_OFFLINE=1
mkdir "$OUT/lib"
[ -d "$AT/deps" ] || finish
cp -r "$AT/deps" "$AT/mix.exs" "$AT/mix.lock" .
"$MIX" deps.compile >&2
cp -rL _build/prod/lib/. "$OUT/lib"
