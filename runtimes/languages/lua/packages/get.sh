cat > "$TMPDIR/get" <<'END'
# URL FILE
export no_proxy="${NO_PROXY-}"
if command -v curl >/dev/null; then
    curl -fsSL --max-time 300 --cacert "$SSL_CERT_FILE" -o "$2" -- "$1"
else
    wget -nv --tries=1 --timeout=60 --ca-certificate="$SSL_CERT_FILE" -O "$2" -- "$1"
fi
END
get() { sh "$TMPDIR/get" "$@" >&2; }
