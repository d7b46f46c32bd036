export GOPROXY="$REGISTRY" GOFLAGS=-mod=mod GOTOOLCHAIN=local GO111MODULE=on GOWORK=off
case " $HOSTS " in *" sum.golang.org "*) ;; *) export GOSUMDB=off ;; esac
mkdir "$TMPDIR/work"; cd "$TMPDIR/work"
