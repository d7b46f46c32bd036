"""Shell text to effects: lex, parse, expand, and walk it with the known variables."""
