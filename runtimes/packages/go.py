"""Go: modules are locked by go.sum, and programs find them by a workspace of one module."""

from __future__ import annotations

from runtimes.packages.tools import Ecosystem

_SET_UP = """\
export GOPROXY="$REGISTRY" GOFLAGS=-mod=mod GOTOOLCHAIN=local GO111MODULE=on GOWORK=off
case " $HOSTS " in *" sum.golang.org "*) ;; *) export GOSUMDB=off ;; esac
mkdir "$TMPDIR/work"; cd "$TMPDIR/work"
"""

_LOCK = (
    _SET_UP
    + """\
"$GO" mod init packages.invalid >/dev/null 2>&1
set --
while IFS= read -r spec; do if [ -n "$spec" ]; then set -- "$@" "$spec"; fi; done < "$IN/wanted"
"$GO" get -d "$@"
"$GO" mod download all
cp go.mod "$OUT"
cp go.sum "$OUT" 2>/dev/null || : > "$OUT/go.sum"
"""
)

# What is not in go.sum would be added to it, and taken as it comes.
_FETCH = (
    _SET_UP
    + """\
cp "$IN/go.mod" "$IN/go.sum" .
if grep -E '^replace |^[[:space:]]*[^/]* => \\.' go.mod >&2; then
    echo "the lock replaces modules by folders of the project" >&2; exit 1
fi
export GOMODCACHE="$OUT/mod"
"$GO" mod download
if ! cmp -s "$IN/go.sum" go.sum; then
    cp go.sum later; grep -vxFf "$IN/go.sum" later >&2 || :
    echo "not all modules have a digest in go.sum" >&2; exit 1
fi
find "$OUT/mod" -name '*.zip' -delete 2>/dev/null || :
mkdir "$OUT/work"
cp "$IN/go.mod" "$IN/go.sum" "$OUT/work"
version="$(sed -n 's/^go //p' go.mod)"
printf 'go %s\\n\\nuse .\\n' "${version:-1.18}" > "$OUT/work/go.work"
chmod -R u+w "$OUT"
"""
)

_PART = r"[A-Za-z0-9][A-Za-z0-9._~-]{0,80}"

GO = Ecosystem(
    name="go",
    title="Go",
    languages=("go",),
    registry="https://proxy.golang.org",
    hosts=("sum.golang.org",),
    spec=rf"{_PART}\.[A-Za-z]{{2,20}}(?:/{_PART}){{0,9}}(?:@v?[A-Za-z0-9.+-]{{1,80}})?",
    lock=_LOCK,
    fetch=_FETCH,
    at="/packages/go",
    env={"GOWORK": "/packages/go/work/go.work", "GOMODCACHE": "/packages/go/mod"},
    lock_name="go.sum",
    lock_files=(("go.sum", "go.mod"),),
    missing=r"no required module provides package ([^\s;:]+)",
    complaints=(
        (r"checksum mismatch|SECURITY ERROR", "a file is not what the lock's digest says"),
        (r"have a digest in go.sum", "the lock does not hold the digests of all modules"),
        (r"by folders of the project", "the lock holds what comes from no registry"),
        (
            r"404 Not Found|not found|no matching versions|invalid version",
            "there is no such module",
        ),
        (r"not a valid zip|malformed file path|zip:", "an archive is damaged"),
    ),
    extra_env={"GOPATH": "{scratch}/go", "GOCACHE": "{scratch}/go-build", "GOTELEMETRY": "off"},
    cooldown=False,
)
