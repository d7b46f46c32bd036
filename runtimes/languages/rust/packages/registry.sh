mkdir -p "$CARGO_HOME"
cat > "$CARGO_HOME/config.toml" <<END
[source.crates-io]
replace-with = "named"
[source.named]
registry = "sparse+$REGISTRY/"
[http]
cainfo = "$SSL_CERT_FILE"
END
