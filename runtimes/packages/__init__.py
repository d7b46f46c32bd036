"""How packages of each language are had, in two phases: a row for each ecosystem."""
