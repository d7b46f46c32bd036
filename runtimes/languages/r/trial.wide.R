# How many lines are longer than 79 bytes?
content <- readBin("corpus.txt", "raw", file.size("corpus.txt"))
ends <- which(content == as.raw(10))
lengths <- diff(c(0L, ends)) - 1L
cat(sum(lengths > 79L), "\n", sep = "")
