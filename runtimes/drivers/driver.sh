# Keeps a bash for a session: evaluates one program after the other in the same shell.
#
# A request comes on descriptor 3: a line with a token and the sizes of the fields behind it
# (folder, bound file, name, code, arguments). The answer goes to descriptor 4: the token and an
# exit code. Both are moved out of the way of programs, which like to use 3 and up themselves.
exec 200<&3 201>&4 3<&- 4>&-

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

while read -r -u 200 -a __sizes; do
  __token=${__sizes[0]} __fields=()
  for __size in "${__sizes[@]:1}"; do
    __ctxmode_field "$__size"
    __fields+=("$__field")
  done
  [ -z "${__fields[0]}" ] || cd -- "${__fields[0]}"
  [ -z "${__fields[1]}" ] || __ctxmode_bind "${__fields[1]}"
  BASH_ARGV0=${__fields[2]}
  set -- "${__fields[@]:4}"
  eval "${__fields[3]}" 200<&- 201>&-
  # A trace that the program switched on is to end with it.
  { __status=$?; set +x; } 2>/dev/null
  printf '%s %d\n' "$__token" "$__status" >&201
done
