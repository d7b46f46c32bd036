"""Change sets as data and on disk, until the user decides on them."""
