(as_expression . (_) @wrap.value) @wrap
(satisfies_expression . (_) @wrap.value) @wrap
(non_null_expression) @wrap
(type_assertion (_) @wrap.value .) @wrap
(import_statement (import_require_clause (identifier) @import.alias source: (_) @import.module) @import)
(import_statement (import_require_clause source: (_) @loads.module)) @loads
(required_parameter pattern: (_) @wrap.value) @wrap
(optional_parameter pattern: (_) @wrap.value) @wrap
(enum_assignment name: (_) @bind.target value: (_) @bind.value) @bind
(enum_declaration name: (_) @local.name) @local
