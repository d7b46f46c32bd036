set -eu
export GIT_CONFIG_GLOBAL=/dev/null GIT_NO_REPLACE_OBJECTS=1 GIT_OPTIONAL_LOCKS=0
out=$1; shift; mkdir -p "$out"
git --git-dir=. for-each-ref --format='@REF_FORMAT@' > "$out/refs"
: > "$out/stash"
[ ! -e logs/refs/stash ] ||
    git --git-dir=. reflog show --format='%H %gs' refs/stash > "$out/stash" 2>/dev/null || :
n=0
for folder in "$@"; do
    g="git --git-dir=$folder"
    $g symbolic-ref -q HEAD > "$out/head-$n" || $g rev-parse -q --verify HEAD > "$out/head-$n"
    : > "$out/index-$n"; : > "$out/unmerged-$n"
    if [ -e "$folder/index" ]; then
        at=$($g rev-parse -q --verify HEAD) || at=$($g hash-object -t tree /dev/null)
        $g diff-index --cached --raw --no-renames --no-abbrev -z "$at" > "$out/index-$n"
        $g ls-files -u -z > "$out/unmerged-$n"
    fi
    n=$((n + 1))
done
object='\([0-9a-f]\{40,64\}\)'
cat "$out"/index-* "$out"/unmerged-* | tr '\0' '\n' | sed     -e "s/^:[0-7]* 1[02][0-7]* [0-9a-f]* $object .*/\1/;t found"     -e "s/^1[02][0-7]* $object [123].*/\1/;t found" -e d -e :found -e '/^0*$/d' > "$out/entries"
pack() { git --git-dir=. pack-objects --revs --thin --stdout --window=0 -q "$@"; }
there() { git --git-dir=. cat-file --batch-check="$1%(objectname)" | grep -v ' ' || :; }
cat "$out/entries" @KNOWN@ | pack --all --reflog > "$out/@PACK@" || {
    cat "$out/entries" "$out/refs" "$out/stash" "$out"/head-* | sed 's/ .*//' | there ''
    sed 's/^.//' @KNOWN@ | there '^'
} | pack > "$out/@PACK@"
