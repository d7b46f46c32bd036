[(identifier) (field_identifier)] @identifier
(field_expression argument: (_) @member.object field: (_) @member.name) @member
(call_expression function: (_) @call.callee arguments: (_) @call.arguments) @call
(argument_list) @arguments
(null) @null
[(string_literal) (concatenated_string) (preproc_arg)] @string
(string_content) @text
(initializer_list) @list
(conditional_expression consequence: (_) @choice.option alternative: (_) @choice.option) @choice
(init_declarator declarator: (_) @bind.target value: (_) @bind.value) @bind
(assignment_expression left: (_) @bind.target operator: "=" right: (_) @bind.value) @bind
[(compound_literal_expression value: (_) @wrap.value) (parenthesized_expression)
  (pointer_expression argument: (_) @wrap.value) (cast_expression value: (_) @wrap.value)
  (parameter_declaration declarator: (_) @wrap.value)] @wrap
(preproc_def name: (_) @bind.target value: (_) @bind.value) @bind
(function_definition declarator: (function_declarator declarator: (identifier) @function.name
  parameters: (_) @function.parameters)) @function
(function_definition declarator: (pointer_declarator declarator: (function_declarator
  declarator: (identifier) @function.name parameters: (_) @function.parameters))) @function
(return_statement (_) @returns.value) @returns
