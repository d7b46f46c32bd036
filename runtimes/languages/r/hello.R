word <- "r"
cat("hello from ", word, "\n", sep = "")
