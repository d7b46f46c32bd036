"""C#: NuGet's own program chooses versions and fetches; a program takes of them what Mono can load.

Debian's speaks version 2 of NuGet's protocol alone, so that the public registry is asked by that.
No script of a package is run: `nuget install` does not, and what is not an assembly is left.
"""

from __future__ import annotations

from runtimes.packages.tools import NUGET, Ecosystem

# Mono's own store of certificates is empty, unless the system's were once put there.
_TRUST = """\
using System;
using System.IO;
using System.Text.RegularExpressions;
using Mono.Security.X509;

static class Trust {
    static void Main(string[] args) {
        string text = File.ReadAllText(args[0]);
        foreach (Match one in Regex.Matches(text, "BEGIN CERTIFICATE-----([^-]+)-----END"))
            X509StoreManager.NewCurrentUser.TrustedRoot.Import(
                new X509Certificate(Convert.FromBase64String(one.Groups[1].Value)));
    }
}
"""

# Names are read from the archive's table: NuGet unpacks them wherever they lead.
_CHECK = """\
using System;
using System.IO;
using System.Text;

static class Check {
    static int Main(string[] paths) {
        int failed = 0;
        foreach (string path in paths) failed |= Look(path);
        return failed;
    }

    static int Look(string path) {
        byte[] zip = File.ReadAllBytes(path);
        int end = zip.Length - 22;
        while (end >= 0 && BitConverter.ToUInt32(zip, end) != 0x06054b50) end--;
        if (end < 0) return Fail("is no archive", path);
        int at = BitConverter.ToInt32(zip, end + 16);
        for (int left = BitConverter.ToUInt16(zip, end + 10); left > 0; left--) {
            if (at < 0 || at > end - 46 || BitConverter.ToUInt32(zip, at) != 0x02014b50)
                return Fail("is no archive", path);
            int length = BitConverter.ToUInt16(zip, at + 28);
            string raw = Encoding.UTF8.GetString(zip, at + 46, Math.Min(length, end - at - 46));
            string name = Uri.UnescapeDataString(raw).Replace('\\\\', '/');
            if (name.StartsWith("/") || ("/" + name + "/").Contains("/../"))
                return Fail("holds a name that leads out of its folder: " + name, path);
            at += 46 + length + BitConverter.ToUInt16(zip, at + 30)
                + BitConverter.ToUInt16(zip, at + 32);
        }
        return 0;
    }

    static int Fail(string words, string path) {
        Console.Error.WriteLine(Path.GetFileName(path) + " " + words);
        return 1;
    }
}
"""

_SET_UP = f"""\
if [ -z "${{MCS:-}}" ]; then echo "packages are had for Mono alone" >&2; exit 1; fi
mkdir -p "$HOME"; cd "$TMPDIR"
cat > trust.cs <<'END'
{_TRUST}END
"$MCS" -warn:0 -r:Mono.Security.dll trust.cs
if [ -e "$SSL_CERT_FILE" ]; then "$MONO" trust.exe "$SSL_CERT_FILE"; fi
printf '<configuration><config>%s</config></configuration>' \\
    "${{http_proxy:+<add key=\\"http_proxy\\" value=\\"$http_proxy\\" />}}" > NuGet.Config
check() {{
    place="$(mktemp -d)"
    cat > "$place/check.cs" <<'END'
{_CHECK}END
    "$MCS" -warn:0 "$place/check.cs"
    find "$TMPDIR" -name '*.nupkg' -exec "$MONO" "$place/check.exe" {{}} + >&2
}}
had() {{
    "$NUGET" install "$@" -Source "$REGISTRY" -OutputDirectory packages -NoCache \\
        -NonInteractive -ConfigFile NuGet.Config > said 2>&1 ||
        {{ check; cat said >&2; exit 1; }}
}}
"""

# Of one package the highest version counts, as a program can load but one.
_LOCK = (
    _SET_UP
    + """\
: > found
while IFS= read -r spec; do
    case "$spec" in
        "") continue ;;
        *@*) had "${spec%@*}" -Version "${spec#*@}" ;;
        *) had "$spec" ;;
    esac
    sed -n "s/^Successfully installed '\\([^ ]*\\) \\([^ ']*\\)'.*/\\1 \\2/p" said >> found
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
"""
)

# NuGet has unpacked by then, in a cell that is thrown away; what it left counts once it is checked.
_FETCH = (
    _SET_UP
    + """\
{
    echo '<packages>'
    while read -r id version _; do echo "<package id='$id' version='$version' />"; done \\
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
    for framework in net48 net472 net471 net47 net462 net461 net46 net452 net451 net45 net403 \\
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
    find "$at" -maxdepth 1 -iname '*.dll' -type f -exec cp {} "$OUT/lib" \\;
done < "$IN/packages.lock"
for path in "$OUT"/lib/*; do
    if [ -e "$path" ]; then echo "\\"-r:/packages/csharp/lib/${path##*/}\\""; fi
done > "$OUT/references"
cp "$IN/packages.lock" "$OUT"
"""
)

CSHARP = Ecosystem(
    name="csharp",
    title="C#",
    languages=("csharp",),
    registry="https://www.nuget.org/api/v2",
    hosts=("api.nuget.org", "globalcdn.nuget.org"),
    spec=r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}(?:@[0-9][A-Za-z0-9.+-]{0,60})?",
    lock=_LOCK,
    fetch=_FETCH,
    at="/packages/csharp",
    env={"MONO_PATH": "/packages/csharp/lib"},
    arguments=("@/packages/csharp/references",),
    lock_name="packages.lock",
    tools=(NUGET,),
    complaints=(
        (r"for Mono alone", "the toolchain that runs is not Mono, which alone is given packages"),
        (r"digest mismatch", "a file is not what the lock's digest says"),
        (r"leads out of", "an archive holds a name that leads out of its folder"),
        (r"no assembly for Mono", "it has no assembly that Mono can load"),
        (
            r"Unable to (?:find|resolve|locate)|is not found|\(404\)",
            "there is no such package or version",
        ),
        (r"is no archive|hash of the package|corrupt|[Ii]nvalid.*(?:zip|archive|package)",
         "an archive is damaged"),
    ),
    extra_env={"HOME": "{scratch}/home", "MONO_REGISTRY_PATH": "{scratch}/.mono"},
    cooldown=False,
    pinned_here=True,
)  # fmt: skip
