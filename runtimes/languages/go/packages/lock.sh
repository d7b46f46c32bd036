"$GO" mod init packages.invalid >/dev/null 2>&1
set --
while IFS= read -r spec; do if [ -n "$spec" ]; then set -- "$@" "$spec"; fi; done < "$IN/wanted"
"$GO" get -d "$@"
"$GO" mod download all
cp go.mod "$OUT"
cp go.sum "$OUT" 2>/dev/null || : > "$OUT/go.sum"
