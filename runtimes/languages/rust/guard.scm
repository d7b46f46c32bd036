[(identifier) (type_identifier) (self)] @identifier
(scoped_identifier path: (_) @member.object name: (_) @member.name) @member
(scoped_type_identifier path: (_) @member.object name: (_) @member.name) @member
(field_expression value: (_) @member.object field: (_) @member.name) @member
(index_expression . (_) @index.object (_) @index.name .) @index
(call_expression function: (_) @call.callee arguments: (_) @call.arguments) @call
[(arguments) (token_tree)] @arguments
(macro_invocation macro: (identifier) @_m (token_tree) @wrap.value (#eq? @_m "vec")) @wrap
(macro_invocation macro: (_) @call.callee (token_tree) @call.arguments) @call
[(string_literal) (raw_string_literal)] @string
(string_content) @text
[(array_expression) (tuple_expression)] @list
[(generic_function function: (_) @wrap.value) (reference_expression value: (_) @wrap.value)
  (parenthesized_expression) (try_expression) (await_expression) (unary_expression)
  (type_cast_expression value: (_) @wrap.value)] @wrap
(binary_expression left: (_) @concat.left operator: "+" right: (_) @concat.right) @concat
(let_declaration pattern: (_) @bind.target value: (_) @bind.value) @bind
(const_item name: (_) @bind.target value: (_) @bind.value) @bind
(static_item name: (_) @bind.target value: (_) @bind.value) @bind
(assignment_expression left: (_) @bind.target right: (_) @bind.value) @bind
(compound_assignment_expr left: (_) @append.target right: (_) @append.value) @append
(for_expression pattern: (_) @loop.target value: (_) @loop.value) @loop
(field_initializer field: (_) @pair.name value: (_) @pair.value) @pair
(use_declaration argument: (_) @use.tree) @use
[(function_item) (closure_expression)] @function
(mod_item name: (_) @local.name) @local
