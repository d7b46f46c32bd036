(import_statement) @text
(import_from_statement module: (_) @text)
(include_statement) @text
