# Starts a driver whose interpreter uses SIGINT itself, and sends it SIGUSR2 instead.
trap 'kill -USR2 "$driver" 2>/dev/null' INT
"$@" <&0 &
driver=$!
exec 3<&- 4>&-
while :; do
  wait "$driver"
  status=$?
  kill -0 "$driver" 2>/dev/null || exit "$status"
done
