# R interpreter for a session: evaluates one program after the other in the workspace.
#
# A request comes on descriptor 3: a line with a token and the sizes of the fields after it
# (folder, bound file, name, code, arguments). The answer goes to descriptor 4: the token and an
# exit code. Started as "interactive", SIGINT ends only the program.
local({
  requests <- file("/proc/self/fd/3", "rb", raw = TRUE)
  answers <- file("/proc/self/fd/4", "wb", raw = TRUE)

  text <- function(size) {
    field <- if (size > 0) readChar(requests, size, useBytes = TRUE) else ""
    Encoding(field) <- "UTF-8"
    field
  }

  bind <- function(path) {
    octets <- readBin(path, "raw", file.size(path))
    content <- rawToChar(octets[octets != as.raw(0)])
    Encoding(content) <- "UTF-8"
    if (!validUTF8(content)) content <- iconv(content, "UTF-8", "UTF-8", sub = "\ufffd")
    assign("FILE_CONTENT", content, envir = globalenv())
    assign("FILE_CONTENT_PATH", path, envir = globalenv())
  }

  show_value <- function(result) {
    if (result$visible) {
      if (isS4(result$value)) methods::show(result$value) else print(result$value)
    }
  }

  # The call of a condition; empty for the top level, whose calls are those below.
  place <- function(condition) {
    call <- conditionCall(condition)
    own <- is.null(call) || identical(call[[1]], quote(eval)) || identical(call[[1]], quote(parse))
    if (own) "" else paste(deparse(call, nlines = 1L), collapse = "")
  }

  complain <- function(error) {
    where <- place(error)
    where <- if (nzchar(where)) paste0(" in ", where, " ") else ""
    cat("Error", where, ": ", conditionMessage(error), "\n", sep = "", file = stderr())
    1L
  }

  # R defers warnings to the top level, which a session never reaches.
  warn <- function(condition) {
    level <- getOption("warn")
    if (level >= 2) return()
    where <- place(condition)
    where <- if (nzchar(where)) paste0("In ", where, " : ") else ""
    if (level >= 0) {
      cat("Warning message:\n", where, conditionMessage(condition), "\n", sep = "", file = stderr())
    }
    invokeRestart("muffleWarning")
  }

  # Interrupts are only for programs; one after the program's end is ignored.
  interactive <- identical(commandArgs(TRUE), "interactive")
  apart <- if (interactive) suspendInterrupts else identity
  within <- if (interactive) allowInterrupts else identity
  forget <- function() tryCatch(allowInterrupts(Sys.sleep(0)), interrupt = identity)

  run <- function(folder, bound, name, code, arguments) {
    tryCatch(within({
      if (nzchar(folder)) setwd(folder)
      if (nzchar(bound)) bind(bound)
      given <- function(trailingOnly = FALSE) if (trailingOnly) arguments else c("R", arguments)
      assign("commandArgs", given, envir = globalenv())
      for (expression in parse(text = code, keep.source = FALSE, encoding = "UTF-8")) {
        result <- withCallingHandlers(
          withVisible(eval(expression, globalenv())),
          warning = warn
        )
        show_value(result)
      }
      0L
    }), error = complain, interrupt = function(condition) 130L)
  }

  apart(repeat {
    header <- readLines(requests, 1L)
    if (length(header) == 0) break
    parts <- strsplit(header, " ", fixed = TRUE)[[1]]
    fields <- vapply(as.integer(parts[-1]), text, "")
    if (interactive) forget()
    status <- run(fields[1], fields[2], fields[3], fields[4], fields[-(1:4)])
    flush(stdout())
    flush(stderr())
    cat(parts[1], " ", status, "\n", sep = "", file = answers)
    flush(answers)
  })
})
