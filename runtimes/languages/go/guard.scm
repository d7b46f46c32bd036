[(identifier) (package_identifier) (type_identifier)] @identifier
(selector_expression operand: (_) @member.object field: (_) @member.name) @member
(qualified_type package: (_) @member.object name: (_) @member.name) @member
(index_expression operand: (_) @index.object index: (_) @index.name) @index
(call_expression function: (_) @call.callee arguments: (argument_list) @call.arguments) @call
(composite_literal type: [(slice_type) (array_type) (implicit_length_array_type)]
  body: (literal_value) @wrap.value) @wrap
(composite_literal type: [(qualified_type) (type_identifier)] @call.callee
  body: (literal_value) @call.arguments) @call
((comment) @embeds (#match? @embeds "^//go:embed "))
[(argument_list) (literal_value)] @arguments
(keyed_element key: (_) @pair.name value: (_) @pair.value) @pair
[(interpreted_string_literal) (raw_string_literal)] @string
[(interpreted_string_literal_content) (raw_string_literal_content)] @text
(variadic_argument) @spread
[(slice_expression operand: (_) @wrap.value) (type_conversion_expression operand: (_) @wrap.value)
  (literal_element) (parenthesized_expression) (unary_expression operand: (_) @wrap.value)] @wrap
(binary_expression left: (_) @concat.left operator: "+" right: (_) @concat.right) @concat
(short_var_declaration left: (_) @bind.target right: (_) @bind.value) @bind
(assignment_statement left: (expression_list (selector_expression operand: (_) @property.object
  field: (_) @property.name)) right: (expression_list (_) @property.value)) @property
(assignment_statement left: (_) @append.target operator: "+=" right: (_) @append.value) @append
(assignment_statement left: (_) @bind.target right: (_) @bind.value) @bind
(var_spec name: (_) @bind.target value: (expression_list (_) @bind.value)) @bind
(const_spec name: (_) @bind.target value: (expression_list (_) @bind.value)) @bind
(expression_list) @targets
(range_clause left: (expression_list (_) (_) @loop.target) right: (_) @loop.value) @loop
(import_spec name: (dot) path: (_) @wildcard.module) @wildcard
(import_spec name: (_)? @import.alias path: (_) @import.module) @import
[(function_declaration) (func_literal) (method_declaration)] @function
(return_statement (expression_list . (_) @returns.value)) @returns
