(escape_sequence) @escape
