while IFS= read -r spec; do
    case "$spec" in
        "") ;;
        *@[0-9]*) printf '{:%s, "== %s"},\n' "${spec%%@*}" "${spec#*@}" ;;
        *@*) printf '{:%s, "%s"},\n' "${spec%%@*}" "${spec#*@}" ;;
        *) printf '{:%s, ">= 0.0.0"},\n' "$spec" ;;
    esac
done < "$IN/wanted" | declare_project
"$MIX" deps.get >&2
cp mix.lock "$OUT"
