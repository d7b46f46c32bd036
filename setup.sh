# Sourced by ./context-mode and ./run-tests: makes .venv in the checkout, once, and again only when
# pyproject.toml has changed. Speaks on stderr alone: stdout is the program's.
# shellcheck shell=sh
set -eu

here=$(dirname "$(readlink -f -- "$0")")
venv=$here/.venv

say() {
    echo "setup: $*" >&2
}

fail() {
    say "$1"
    exit 1
}

# An interpreter that is new enough and can make virtual environments.
find_python() {
    lacking=
    for name in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11; do
        "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue
        if "$name" -c 'import ensurepip, venv' 2>/dev/null; then
            echo "$name"
            return
        fi
        lacking=$name
    done
    if [ -n "$lacking" ]; then
        fail "$lacking lacks its venv module (Debian, Ubuntu: apt-get install python3-venv)"
    fi
    fail "no Python 3.11 or newer is on PATH; set PYTHON=/path/to/python3 if it is elsewhere"
}

# What a finished set-up of a kind ("app" or "dev") leaves in its mark. By the first one
# runtimes/places.py knows that programs are not meant to run in it.
expected_mark() {
    echo "$here $(cksum <"$here/pyproject.toml")"
}

is_ready() {
    [ -x "$venv/bin/python" ] && [ "$(cat "$venv/.ready-$1" 2>/dev/null)" = "$(expected_mark)" ]
}

pip_install() {
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-input "$@"
}

install() {
    say "installing into $venv ($1; once, about a minute) …"
    python=$(find_python)
    if [ ! -x "$venv/bin/python" ]; then
        "$python" -m venv --clear "$venv"
    elif ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
        "$python" -m venv "$venv" # an earlier set-up was interrupted
    fi
    if [ "$1" = dev ]; then
        pip_install --upgrade 'pip>=25.1' # the first that knows dependency groups
        pip_install --editable "$here" --group "$here/pyproject.toml:dev"
        expected_mark >"$venv/.ready-dev"
    else
        pip_install --editable "$here"
    fi
    # What lies in the checkout pip does not compile, and where PYTHONDONTWRITEBYTECODE is set nobody
    # else would: then every call would take twice as long.
    (cd "$here" && "$venv/bin/python" -m compileall -q ctxmode fleet executor memory repomap policy kb runtimes images base)
    expected_mark >"$venv/.ready-app"
}

# Makes sure that everything for "app" or "dev" is there.
set_up() {
    is_ready "$1" && return
    [ -w "$here" ] || fail "$here cannot be written: clone into a folder of your own"
    # Agents may start several servers at once: one of them sets up, the others wait.
    exec 9>"$here/.venv.lock"
    flock 9
    trap 'say "failed; the lines above say why. Running it again goes on from here."' EXIT
    is_ready "$1" || install "$1" >&2
    trap - EXIT
    exec 9>&-
}
