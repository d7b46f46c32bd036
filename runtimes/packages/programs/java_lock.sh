lock >&2
