# A started bash waits for its program. Read by BASH_ENV, before the program is
# opened. It leaves a PIPESTATUS of 0 and the number of the program's arguments in BASH_ARGC, where a
# program that reads them before its first command would find nothing.
read -r BASH_ENV < "${BASH_ENV%/*}/gate"
unset BASH_ENV
: "$BASH"
