(namespace_use_declaration) @text
(require_expression) @text
(require_once_expression) @text
(include_expression) @text
(include_once_expression) @text
