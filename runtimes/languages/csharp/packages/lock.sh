: > found
while IFS= read -r spec; do
    case "$spec" in
        "") continue ;;
        *@*) had "${spec%@*}" -Version "${spec#*@}" ;;
        *) had "$spec" ;;
    esac
    sed -n "s/^Successfully installed '\([^ ]*\) \([^ ']*\)'.*/\1 \2/p" said >> found
done < "$IN/wanted"
check
sort -k1,1f -k2,2V found | awk '
    tolower($1) != name && name { print line } { name = tolower($1); line = $0 }
    END { if (name) print line }' > kept
while read -r id version; do
    case "$id$version" in
        *[!A-Za-z0-9._+-]*) echo "a name that leads out of its folder: $id" >&2; exit 1 ;;
    esac
    digest="$(sha256sum "packages/$id.$version/$id.$version.nupkg")"
    echo "$id $version ${digest%% *}" >> "$OUT/packages.lock"
done < kept
