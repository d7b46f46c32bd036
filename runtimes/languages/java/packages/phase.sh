cat > "$TMPDIR/Packages.java" <<'END'
@java/packages/Packages.java@END
maven="${MVN%/bin/*}"
for jar in "$maven"/lib/maven-resolver-api*; do
    if [ ! -e "$jar" ]; then maven=/usr/share/maven; fi
done
set -- -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Djava.io.tmpdir="$TMPDIR"
if [ -n "${https_proxy:-}" ]; then
    at="${https_proxy#http://}"
    set -- "$@" "-Dhttp.proxyHost=${at%:*}" "-Dhttp.proxyPort=${at#*:}" \
        "-Dhttps.proxyHost=${at%:*}" "-Dhttps.proxyPort=${at#*:}" \
        "-Dhttp.nonProxyHosts=localhost|127.*"
fi
"$JAVA" "$@" -cp "$maven/lib/*:$maven/boot/*" "$TMPDIR/Packages.java" 