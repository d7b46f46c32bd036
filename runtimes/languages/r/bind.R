FILE_CONTENT_PATH <- Sys.getenv("FILE_CONTENT_PATH")
FILE_CONTENT <- local({
  octets <- readBin(FILE_CONTENT_PATH, "raw", file.size(FILE_CONTENT_PATH))
  text <- rawToChar(octets[octets != as.raw(0)])
  Encoding(text) <- "UTF-8"
  if (validUTF8(text)) text else iconv(text, "UTF-8", "UTF-8", sub = "\ufffd")
})
