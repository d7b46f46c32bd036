(identifier) @identifier
(dot_index_expression table: (_) @member.object field: (_) @member.name) @member
(bracket_index_expression table: (_) @index.object field: (_) @index.name) @index
(function_call name: (method_index_expression table: (_) @call.object method: (_) @call.name)
  arguments: (_) @call.arguments) @call
(function_call name: (_) @call.callee arguments: (_) @call.arguments) @call
(arguments) @arguments
(field name: (_) @pair.name value: (_) @pair.value) @pair
(table_constructor) @list
(string) @string
(string_content) @text
(binary_expression left: (_) @concat.left ".." right: (_) @concat.right) @concat
(binary_expression left: (_) @choice.option "or" right: (_) @choice.option) @choice
(assignment_statement (variable_list) @bind.target (expression_list) @bind.value) @bind
(variable_list) @targets
[(field !name value: (_) @wrap.value) (parenthesized_expression)
  (expression_list . (_) @wrap.value .)] @wrap
(for_generic_clause (variable_list) @loop.target (expression_list) @loop.value) @loop
[(function_declaration) (function_definition)] @function
(return_statement (expression_list . (_) @returns.value)) @returns
