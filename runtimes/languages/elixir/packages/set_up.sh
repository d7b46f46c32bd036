mkdir -p "$HOME" "$TMPDIR/archives" "$TMPDIR/work"
for inner in "$HEX"/*; do
    if [ -d "$inner/ebin" ]; then cp -r "$HEX" "$TMPDIR/archives/${inner##*/}"; fi
done
export MIX_ARCHIVES="$TMPDIR/archives" HEX_CACERTS_PATH="$SSL_CERT_FILE"
if rebar3="$(command -v rebar3)"; then export MIX_REBAR3="$rebar3"; fi
case "${REGISTRY:-}" in
    https://repo.hex.pm | "") ;;
    *)
        export HEX_UNSAFE_REGISTRY=1 HEX_NO_VERIFY_REPO_ORIGIN=1
        "$MIX" hex.repo set hexpm --url "$REGISTRY" >&2
        ;;
esac
cd "$TMPDIR/work"
declare_project() {
    {
        echo 'defmodule Packages.MixProject do'
        echo '  use Mix.Project'
        echo '  def project, do: [app: :packages, version: "0.0.0", deps: ['
        cat
        echo '  ]]'
        echo 'end'
    } > mix.exs
}
