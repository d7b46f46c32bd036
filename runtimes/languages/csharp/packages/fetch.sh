{
    echo '<packages>'
    while read -r id version _; do echo "<package id='$id' version='$version' />"; done \
        < "$IN/packages.lock"
    echo '</packages>'
} > packages.config
had packages.config
check
mkdir "$OUT/lib"
while read -r id version digest; do
    folder="packages/$id.$version"
    archive="$folder/$id.$version.nupkg"
    found="$(sha256sum "$archive")"
    if [ "${found%% *}" != "$digest" ]; then
        echo "digest mismatch: $id $version" >&2; exit 1
    fi
    if [ ! -d "$folder/lib" ]; then continue; fi
    for framework in net48 net472 net471 net47 net462 net461 net46 net452 net451 net45 net403 \
        net40 net35 net20 . netstandard2.0 netstandard1.6 netstandard1.3 netstandard1.0; do
        at="$(find "$folder/lib" -mindepth 1 -maxdepth 1 -iname "$framework" -type d)"
        if [ "$framework" = . ]; then at="$folder/lib"; fi
        if [ -n "$at" ] && [ -n "$(find "$at" -maxdepth 1 -iname '*.dll')" ]; then break; fi
        at=
    done
    if [ -z "$at" ]; then
        if [ -n "$(find "$folder/lib" -iname '*.dll')" ]; then
            echo "$id $version has no assembly for Mono" >&2; exit 1
        fi
        continue
    fi
    find "$at" -maxdepth 1 -iname '*.dll' -type f -exec cp {} "$OUT/lib" \;
done < "$IN/packages.lock"
for path in "$OUT"/lib/*; do
    if [ -e "$path" ]; then echo "\"-r:/packages/csharp/lib/${path##*/}\""; fi
done > "$OUT/references"
cp "$IN/packages.lock" "$OUT"
