printf '[package]\nname = "packages"\nversion = "0.0.0"\nedition = "2021"\n[dependencies]\n' \
    > Cargo.toml
while IFS= read -r spec; do
    case "$spec" in
        "") ;;
        *@*) printf '%s = "%s"\n' "${spec%@*}" "${spec#*@}" >> Cargo.toml ;;
        *) printf '%s = "*"\n' "$spec" >> Cargo.toml ;;
    esac
done < "$IN/wanted"
"$CARGO" generate-lockfile
cp Cargo.toml Cargo.lock "$OUT"
