"""R: its registries tell no digests, so that those of the first download are pinned.

What compiles is compiled without network.
"""

from __future__ import annotations

from runtimes.packages.tools import Ecosystem

_LOCK = """\
cat > "$TMPDIR/lock.R" <<'END'
registry <- Sys.getenv("REGISTRY")
wanted <- readLines(file.path(Sys.getenv("IN"), "wanted"))
wanted <- wanted[nzchar(wanted)]
known <- available.packages(repos = registry, type = "source")
own <- rownames(installed.packages(priority = "base"))
needs <- tools::package_dependencies(wanted, known, recursive = TRUE)
left <- setdiff(unique(c(wanted, unlist(needs))), own)
lacking <- setdiff(left, rownames(known))
if (length(lacking)) stop("no such package: ", paste(lacking, collapse = ", "))
lines <- character()
while (length(left)) {  # what others need comes before them
  direct <- tools::package_dependencies(left, known)
  ready <- left[vapply(left, function(one) !any(direct[[one]] %in% left), TRUE)]
  if (!length(ready)) stop("packages that need each other: ", paste(left, collapse = ", "))
  for (one in sort(ready)) {
    file <- paste0(one, "_", known[one, "Version"], ".tar.gz")
    at <- file.path(tempdir(), file)
    download.file(paste0(registry, "/src/contrib/", file), at, quiet = TRUE, mode = "wb")
    digest <- substr(system2("sha256sum", shQuote(at), stdout = TRUE), 1, 64)
    lines <- c(lines, paste(one, known[one, "Version"], digest))
  }
  left <- setdiff(left, ready)
}
writeLines(lines, file.path(Sys.getenv("OUT"), "packages.lock"))
END
"$RSCRIPT" --vanilla "$TMPDIR/lock.R" >&2
"""

_FETCH = """\
cat > "$TMPDIR/fetch.R" <<'END'
registry <- Sys.getenv("REGISTRY")
out <- file.path(Sys.getenv("OUT"), "fetched")
dir.create(out)
for (line in readLines(file.path(Sys.getenv("IN"), "packages.lock"))) {
  parts <- strsplit(line, " ")[[1]]
  file <- paste0(parts[1], "_", parts[2], ".tar.gz")
  if (grepl("/", file)) stop("a name that leads out of its folder: ", file)
  at <- file.path(out, file)
  # An older release has a place of its own.
  for (folder in c("", paste0("Archive/", parts[1], "/"))) {
    url <- paste0(registry, "/src/contrib/", folder, file)
    got <- tryCatch(download.file(url, at, quiet = TRUE, mode = "wb"), error = function(e) e,
                    warning = function(e) e)
    if (identical(got, 0L)) break
  }
  if (!identical(got, 0L)) stop(conditionMessage(got))
  digest <- substr(system2("sha256sum", shQuote(at), stdout = TRUE), 1, 64)
  if (digest != parts[3]) stop("digest mismatch: ", file)
}
END
"$RSCRIPT" --vanilla "$TMPDIR/fetch.R" >&2
cp "$IN/packages.lock" "$OUT"
"""

_BUILD = """\
mkdir "$OUT/library"
while read -r name version _; do
    "${RSCRIPT%/*}/R" CMD INSTALL --no-docs --library="$OUT/library" \\
        "$AT/fetched/${name}_$version.tar.gz" >&2
done < "$AT/packages.lock"
"""

R = Ecosystem(
    name="r",
    title="R",
    languages=("r",),
    registry="https://cloud.r-project.org",
    hosts=(),
    spec=r"[A-Za-z][A-Za-z0-9.]{0,63}",
    lock=_LOCK,
    fetch=_FETCH,
    build=_BUILD,
    at="/packages/r",
    env={"R_LIBS": "/packages/r/library"},
    lock_name="packages.lock",
    missing=r"there is no package called .([A-Za-z][A-Za-z0-9.]*)",
    complaints=(
        (r"no such package", "there is no such package"),
        (r"digest mismatch", "a file is not what the lock's digest says"),
        (r"leads out of", "an archive is damaged"),
        (r"unable to access index|cannot open URL|404 Not Found", "there is no such package"),
        (r"ERROR: (?:compilation|configuration|lazy loading|dependenc)", "it was not built"),
    ),
    extra_env={"R_LIBS": "{scratch}/out/tree/library", "MAKEFLAGS": "-j2"},
    cooldown=False,
    pinned_here=True,
)
