(import_declaration) @text
