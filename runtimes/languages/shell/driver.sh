# bash for a session: evaluates one program after the other in the same shell.
#
# A request comes on descriptor 3: a line with a token and the sizes of the fields after it
# (folder, bound file, name, code, arguments). The answer goes to descriptor 4: the token and an
# exit code. Both are moved out of the way of programs, which like to use 3 and up themselves.
#
# Started as "interactive", SIGINT ends only the program, as in an interactive bash, which
# then continues with its next line: so each line of its input is this file again.
if [ "$1" = interactive ]; then
  exec 202>&2 2>/dev/null # it would complain that it has no terminal
  __ctxmode_driver=$0 exec "$BASH" --noediting --noprofile --norc +m -i \
    0< <(printf '. "$__ctxmode_driver"\n%.0s' {1..2000})
fi

if [ -z "$__ctxmode_started" ]; then
  __ctxmode_started=1
  exec 200<&3 201>&4 3<&- 4>&-
  if [ -n "$__ctxmode_driver" ]; then
    declare +x __ctxmode_driver
    exec 2>&202 202>&-
    set +H +o history
    PS1= PS2=
  fi
fi

# $1: a size in bytes. Leaves the field in __field. The shell itself reads byte by byte, which
# another process outruns from some size on; the mark saves the trailing line feeds.
__ctxmode_field() {
  __field=
  if [ "$1" -gt 10000 ]; then
    __field=$(head -c "$1" <&200 201>&-; printf x)
    __field=${__field%x}
  elif [ "$1" -gt 0 ]; then
    LC_ALL=C IFS= read -r -N "$1" -u 200 __field
  fi
}

__ctxmode_bind() {
  FILE_CONTENT_PATH=$1
  { FILE_CONTENT=$(cat -- "$1"; printf x); } 2>/dev/null
  FILE_CONTENT=${FILE_CONTENT%x}
}

__ctxmode_answer() {
  printf '%s %d\n' "$__token" "$1" >&201
  __token=
}

[ -z "$__ctxmode_driver" ] || trap '' INT
[ -z "$__token" ] || __ctxmode_answer 130 # of a program that was interrupted
while read -r -u 200 -a __sizes; do
  __fields=()
  for __size in "${__sizes[@]:1}"; do
    __ctxmode_field "$__size"
    __fields+=("$__field")
  done
  [ -z "${__fields[0]}" ] || cd -- "${__fields[0]}"
  [ -z "${__fields[1]}" ] || __ctxmode_bind "${__fields[1]}"
  BASH_ARGV0=${__fields[2]}
  set -- "${__fields[@]:4}"
  __token=${__sizes[0]}
  if [ -n "$__ctxmode_driver" ]; then
    eval "${__ctxmode_on_interrupt:-trap - INT}"
    eval "${__fields[3]}" 0</dev/null 200<&- 201>&-
  else
    eval "${__fields[3]}" 200<&- 201>&-
  fi
  # A trace that the program switched on ends with it.
  { __status=$?; set +x; } 2>/dev/null
  if [ -n "$__ctxmode_driver" ]; then
    __ctxmode_on_interrupt=$(trap -p INT)
    trap '' INT
  fi
  __ctxmode_answer "$__status"
done
[ -z "$__ctxmode_driver" ] || exit 0
