[(identifier) (this) (import) (shorthand_property_identifier)
  (shorthand_property_identifier_pattern)] @identifier
(member_expression object: (_) @member.object property: (_) @member.name) @member
(subscript_expression object: (_) @index.object index: (_) @index.name) @index
(call_expression function: (_) @call.callee arguments: (arguments) @call.arguments) @call
(call_expression function: (_) @call.callee arguments: (template_string) @call.arguments) @call
(new_expression constructor: (_) @call.callee arguments: (arguments) @call.arguments) @call
(new_expression constructor: (_) @call.callee) @call
(arguments) @arguments
(pair key: (_) @pair.name value: (_) @pair.value) @pair
(pair_pattern key: (_) @pair.name value: (_) @pair.value) @pair
(object) @map
(object_pattern) @pattern
[(string) (template_string)] @string
(string_fragment) @text
(template_substitution) @interpolation
(array) @list
(spread_element) @spread
[(parenthesized_expression (_) @wrap.value .) (await_expression)
  (sequence_expression (_) @wrap.value .)] @wrap
(binary_expression left: (_) @concat.left operator: "+" right: (_) @concat.right) @concat
(binary_expression left: (_) @choice.option operator: ["||" "??"] right: (_) @choice.option) @choice
(ternary_expression consequence: (_) @choice.option alternative: (_) @choice.option) @choice
(variable_declarator name: (_) @bind.target value: (_) @bind.value) @bind
(assignment_expression left: (_) @bind.target right: (_) @bind.value) @bind
(augmented_assignment_expression left: (_) @append.target right: (_) @append.value) @append
(for_in_statement left: (_) @loop.target right: (_) @loop.value) @loop
(import_statement source: (string) @loads.module) @loads
(call_expression function: (identifier) @_require arguments: (arguments . (string) @loads.module)
  (#eq? @_require "require")) @loads
(import_statement (import_clause (identifier) @import.alias @import) source: (_) @import.module)
(import_statement (import_clause (namespace_import (identifier) @import.alias) @import)
  source: (_) @import.module)
(import_statement (import_clause (named_imports
  (import_specifier name: (_) @import.name alias: (_)? @import.alias) @import))
  source: (_) @import.module)
[(function_declaration) (generator_function_declaration) (function_expression) (arrow_function)
  (method_definition)] @function
(variable_declarator name: (identifier) @function.name value: (arrow_function) @function)
(arrow_function parameter: (_) @function.parameters) @function
(class_declaration name: (_) @local.name) @local
(return_statement (_) @returns.value) @returns
