(import_header) @text
