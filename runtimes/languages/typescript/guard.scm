(import_statement (import_require_clause (identifier) @import.alias source: (_) @import.module) @import)
(import_statement (import_require_clause source: (_) @loads.module)) @loads
[(as_expression . (_) @wrap.value) (satisfies_expression . (_) @wrap.value) (non_null_expression)
  (type_assertion (_) @wrap.value .) (required_parameter pattern: (_) @wrap.value)
  (optional_parameter pattern: (_) @wrap.value)] @wrap
(enum_assignment name: (_) @bind.target value: (_) @bind.value) @bind
(enum_declaration name: (_) @local.name) @local
(public_field_definition name: (_) @bind.target value: (_) @bind.value) @bind
