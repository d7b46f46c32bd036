"""Elixir: Hex locks with digests and fetches; Mix compiles without network.

While Mix fetches it knows from the registry what a package needs, and evaluates nothing of it.
"""

from __future__ import annotations

from runtimes.packages.tools import HEX, MIX, Ecosystem

# What a registry of one's own signs, it signs by a key of its own.
_SET_UP = """\
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
"""

_LOCK = (
    _SET_UP
    + """\
while IFS= read -r spec; do
    case "$spec" in
        "") ;;
        *@[0-9]*) printf '{:%s, "== %s"},\\n' "${spec%%@*}" "${spec#*@}" ;;
        *@*) printf '{:%s, "%s"},\\n' "${spec%%@*}" "${spec#*@}" ;;
        *) printf '{:%s, ">= 0.0.0"},\\n' "$spec" ;;
    esac
done < "$IN/wanted" | declare_project
"$MIX" deps.get >&2
cp mix.lock "$OUT"
"""
)

# A lock is read as data. All that it holds is demanded at its version, so that nothing is resolved.
_READ = """\
digest = ~r/\\A[0-9a-f]{64}\\z/
plain = ~r/\\A[A-Za-z0-9._+-]+\\z/
refuse = fn words -> IO.puts(:stderr, words); System.halt(1) end
entries =
  case Code.string_to_quoted(File.read!(hd(System.argv()))) do
    {:ok, {:%{}, _, entries}} -> entries
    _ -> refuse.("this is no lock of Mix's")
  end
for entry <- entries do
  {name, parts} =
    case entry do
      {name, {:{}, _, parts}} when is_atom(name) or is_binary(name) -> {name, parts}
      _ -> {"an entry", []}
    end
  case parts do
    [:hex, package, version, inner, _, _, "hexpm", outer]
    when is_atom(package) and is_binary(version) and is_binary(inner) and is_binary(outer) ->
      unless outer =~ digest, do: refuse.("the lock holds no digest of #{name}")
      file = "#{package}-#{version}.tar"
      unless file =~ plain, do: refuse.("a name that leads out of its folder: #{file}")
      File.write!("digests", "#{outer}  #{file}\\n", [:append])
      as = if to_string(name) == to_string(package), do: "", else: ", hex: #{inspect(package)}"
      app = name |> to_string() |> String.to_atom() |> inspect()
      IO.puts("{#{app}, #{inspect("== " <> version)}#{as}, override: true},")
    [:hex, _, _ | _] -> refuse.("the lock holds no digest of #{name}, or it is of another registry")
    _ -> refuse.("#{name} is of no registry")
  end
end
"""

_FETCH = (
    _SET_UP
    + f"""\
cat > read.exs <<'END'
{_READ}END
cp "$IN/mix.lock" .
"$ELIXIR" read.exs mix.lock > dependencies
declare_project < dependencies
: >> digests
"$MIX" deps.get >&2
# Hex compares with what the registry says today, and this with the lock.
mkdir -p "$HEX_HOME/packages/hexpm"
(cd "$HEX_HOME/packages/hexpm" && sha256sum --quiet -c "$TMPDIR/work/digests" >&2)
if [ "$(ls "$HEX_HOME/packages/hexpm" | wc -l)" != "$(wc -l < digests)" ]; then
    ls "$HEX_HOME/packages/hexpm" >&2
    echo "the lock holds no digest of one of these" >&2; exit 1
fi
if [ -d deps ]; then cp -r deps "$OUT/deps"; fi
cp mix.exs mix.lock "$OUT"
"""
)

_BUILD = (
    _SET_UP
    + """\
export HEX_OFFLINE=1
mkdir "$OUT/lib"
[ -d "$AT/deps" ] || finish
cp -r "$AT/deps" "$AT/mix.exs" "$AT/mix.lock" .
"$MIX" deps.compile >&2
cp -rL _build/prod/lib/. "$OUT/lib"
"""
)

ELIXIR = Ecosystem(
    name="elixir",
    title="Elixir",
    languages=("elixir",),
    registry="https://repo.hex.pm",
    hosts=(),
    spec=r"[a-z][a-z0-9_]{0,63}(?:@(?:~>|>=|==)?\s?[0-9][0-9A-Za-z.+-]{0,40})?",
    lock=_LOCK,
    fetch=_FETCH,
    build=_BUILD,
    at="/packages/elixir",
    env={"ERL_LIBS": "/packages/elixir/lib"},
    lock_name="mix.lock",
    lock_files=(("mix.lock",),),
    tools=(MIX, HEX),
    complaints=(
        (
            r"checksum mismatch|[Cc]hecksum.*(?:does ?n.t|did not|not) match|mismatch.*checksum"
            r"|did NOT match",
            "a file is not what the lock's digest says",
        ),
        (r"no lock of Mix's", "the file is no lock of Mix's"),
        (r"failed_connect|tls_alert", "the registry was not reached as it should be"),
        (r"holds no digest", "the lock holds no digest of it"),
        (r"is of no registry", "the lock holds what comes from no registry"),
        (r"[Uu]npacking tarball failed|tarball error", "an archive is damaged"),
        (
            r"No package with name|no such package|doesn.t match any versions",
            "there is no such package or version",
        ),
        (r"version solving failed|resolution failed", "no versions fit together"),
        (r"leads out of", "a name leads out of its folder"),
        (r"could not compile dependency|== Compilation error", "it was not built"),
    ),
    extra_env={
        "HOME": "{scratch}/home",
        "MIX_HOME": "{scratch}/mix",
        "HEX_HOME": "{scratch}/hex",
        "MIX_ENV": "prod",
        "HEX_HTTP_TIMEOUT": "60",
        "ELIXIR_ERL_OPTIONS": "+fnu",
    },
    cooldown=False,
)
