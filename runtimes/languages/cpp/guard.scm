(subscript_expression argument: (_) @index.object indices: (_) @index.name) @index
[(namespace_identifier) (type_identifier)] @identifier
(qualified_identifier scope: (_) @member.object name: (_) @member.name) @member
(qualified_identifier !scope name: (_) @wrap.value) @wrap
(binary_expression left: (_) @path.left operator: "/" right: (_) @path.right) @path
(raw_string_literal) @string
(raw_string_content) @text
(user_defined_literal . (_) @wrap.value) @wrap
(binary_expression left: (_) @concat.left operator: "+" right: (_) @concat.right) @concat
(assignment_expression left: (_) @append.target operator: "+=" right: (_) @append.value) @append
(field_declaration declarator: (_) @bind.target default_value: (_) @bind.value) @bind
(declaration type: (_) @call.callee declarator: (init_declarator
  value: [(argument_list) (initializer_list)] @call.arguments)) @call
(declaration type: (_) @bind.value declarator: (identifier) @bind.target
  (#match? @bind.value "(fstream|QProcess)$")) @bind
(declaration type: (_) @call.callee declarator: (function_declarator parameters: (parameter_list
  (parameter_declaration type: (type_identifier) @call.arguments)))
  (#match? @call.callee "fstream$")) @call
(for_range_loop declarator: (_) @loop.target right: (_) @loop.value) @loop
(using_declaration "namespace" (_) @wildcard.module) @wildcard
(using_declaration (qualified_identifier name: (_) @import.alias) @import.module) @import
(namespace_alias_definition name: (_) @import.alias (nested_namespace_specifier) @import.module) @import
(new_expression type: (_) @call.callee arguments: (_) @call.arguments) @call
