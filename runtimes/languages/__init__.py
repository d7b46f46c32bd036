"""One module a language (or family of languages): its rows, and the functions the rows refer to."""
