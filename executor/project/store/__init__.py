"""Change sets as data and on disk, until a person decides on them."""
