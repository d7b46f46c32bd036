mkdir "$OUT/library"
while read -r name version _; do
    "${RSCRIPT%/*}/R" CMD INSTALL --no-docs --library="$OUT/library" \
        "$AT/fetched/${name}_$version.tar.gz" >&2
done < "$AT/packages.lock"
