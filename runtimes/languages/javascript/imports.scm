(import_statement source: (string) @module)
(export_statement source: (string) @module)
(call_expression function: [(identifier) (import)] @call
  arguments: (arguments . (string) @module))
