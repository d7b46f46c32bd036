"""Shell text to effects: lex, parse, expand, and walk it with what is known of its variables."""
