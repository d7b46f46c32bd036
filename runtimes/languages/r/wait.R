# A started R waits for its program. Read instead of the user's profile, it then reads the
# user's. Packages that R attaches and loads after the profile, its compiler last, are loaded
# before the wait.
local({
  .First.sys()
  if (Sys.getenv("R_ENABLE_JIT") == "") compiler:::checkCompilerOptions(3L)
  Sys.unsetenv("GLIBC_TUNABLES")  # which was for the start alone
  gate <- file(file.path(dirname(Sys.getenv("R_PROFILE_USER")), "gate"), "r", raw = TRUE)
  on.exit(close(gate))
  for (line in readLines(gate)) {
    at <- regexpr("=", line, fixed = TRUE)
    value <- list(substring(line, at + 1))
    do.call(Sys.setenv, stats::setNames(value, substring(line, 1, at - 1)))
  }
})
sys.source(Sys.getenv("R_PROFILE_USER"), envir = globalenv(), keep.source = FALSE)
