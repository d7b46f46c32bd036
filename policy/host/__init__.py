"""Programs in other languages: what they start and open, found by tree-sitter queries."""
