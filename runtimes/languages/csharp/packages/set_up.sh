if [ -z "${MCS:-}" ]; then echo "packages are had for Mono alone" >&2; exit 1; fi
mkdir -p "$HOME"; cd "$TMPDIR"
cat > trust.cs <<'END'
@csharp/packages/trust.cs@END
"$MCS" -warn:0 -r:Mono.Security.dll trust.cs
if [ -e "$SSL_CERT_FILE" ]; then "$MONO" trust.exe "$SSL_CERT_FILE"; fi
printf '<configuration><config>%s</config></configuration>' \
    "${http_proxy:+<add key=\"http_proxy\" value=\"$http_proxy\" />}" > NuGet.Config
check() {
    place="$(mktemp -d)"
    cat > "$place/check.cs" <<'END'
@csharp/packages/check.cs@END
    "$MCS" -warn:0 "$place/check.cs"
    find "$TMPDIR" -name '*.nupkg' -exec "$MONO" "$place/check.exe" {} + >&2
}
had() {
    "$NUGET" install "$@" -Source "$REGISTRY" -OutputDirectory packages -NoCache \
        -NonInteractive -ConfigFile NuGet.Config > said 2>&1 ||
        { check; cat said >&2; exit 1; }
}
