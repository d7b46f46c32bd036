[(simple_identifier) (type_identifier) (interpolated_identifier)] @identifier
(navigation_expression . (_) @member.object (navigation_suffix (_) @member.name) .) @member
(callable_reference . (_) @member.object (simple_identifier) @member.name .) @member
(indexing_expression . (_) @index.object (indexing_suffix . (_) @index.name)) @index
(call_expression . (_) @call.callee (call_suffix [(value_arguments) (annotated_lambda)] @call.arguments)) @call
(value_arguments) @arguments
(value_argument (simple_identifier) @pair.name "=" (_) @pair.value .) @pair
(value_argument . (_) @wrap.value .) @wrap
(infix_expression . (_) @pair.name (simple_identifier) @_to (_) @pair.value . (#eq? @_to "to")) @pair
(spread_expression) @spread
(string_literal) @string
(string_content) @text
(interpolated_expression) @interpolation
(additive_expression . (_) @concat.left "+" (_) @concat.right) @concat
(elvis_expression . (_) @choice.option (_) @choice.option .) @choice
(if_expression consequence: (_) @choice.option alternative: (_) @choice.option) @choice
[(control_structure_body . (_) @wrap.value .) (parenthesized_expression . (_) @wrap.value .)
  (as_expression . (_) @wrap.value) (postfix_expression . (_) @wrap.value)
  (annotated_lambda . (_) @wrap.value .)] @wrap
(property_declaration (variable_declaration . (simple_identifier) @bind.target) . (_) @bind.value) @bind
(assignment (directly_assignable_expression) @append.target "+=" (_) @append.value) @append
(assignment (directly_assignable_expression) @bind.target "=" (_) @bind.value) @bind
(for_statement (variable_declaration . (simple_identifier) @loop.target) . (_) @loop.value) @loop
(import_header (identifier) @wildcard.module (wildcard_import)) @wildcard
(import_header (identifier (simple_identifier) @import.alias .) @import.module .) @import
(import_header (identifier) @import.module (import_alias (_) @import.alias)) @import
(function_declaration (simple_identifier) @function.name (function_value_parameters) @function.parameters) @function
(lambda_literal) @function
(class_declaration (type_identifier) @local.name) @local
(jump_expression "return" (_) @returns.value) @returns
