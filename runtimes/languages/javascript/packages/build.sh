if [ -f "$AT/package-lock.json" ]; then
    grep -q '"hasInstallScript": true' "$AT/package-lock.json" || finish
else
    find "$AT/node_modules" \( -name binding.gyp -print \) -o \( -name package.json \
        -exec grep -lE '"(pre|post)?install"[[:space:]]*:' {} + \) | grep -q . || finish
fi
cp -r "$AT/." "$OUT"; cd "$OUT"
"$NODE" "$NPM" rebuild --foreground-scripts >&2
