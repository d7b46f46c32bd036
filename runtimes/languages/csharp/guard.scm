(identifier) @identifier
(member_access_expression expression: (_) @member.object name: (_) @member.name) @member
(qualified_name qualifier: (_) @member.object name: (_) @member.name) @member
(alias_qualified_name alias: (_) @member.object name: (_) @member.name) @member
(element_access_expression expression: (_) @index.object subscript: (_) @index.name) @index
(invocation_expression function: (_) @call.callee arguments: (_) @call.arguments) @call
(object_creation_expression type: (array_type) initializer: (_) @wrap.value) @wrap
(object_creation_expression type: (generic_name) initializer: (_) @wrap.value) @wrap
(object_creation_expression type: (_) @call.callee arguments: (_)? @call.arguments
  initializer: (_)? @call.arguments) @call
(assignment_expression left: (_) @call.callee
  right: (implicit_object_creation_expression (initializer_expression) @call.arguments) @call)
(variable_declaration type: (_) @call.callee (variable_declarator
  (implicit_object_creation_expression (argument_list) @call.arguments) @call))
[(argument_list) (bracketed_argument_list) (initializer_expression)] @arguments
(assignment_expression left: (identifier) @call.callee
  right: (initializer_expression) @call.arguments (#eq? @call.callee "StartInfo")) @call
(initializer_expression (assignment_expression left: (_) @pair.name right: (_) @pair.value) @pair)
(argument name: (_) @pair.name (_) @pair.value .) @pair
(argument (_) @wrap.value .) @wrap
(collection_expression) @list
(spread_element) @spread
[(string_literal) (verbatim_string_literal) (raw_string_literal) (interpolated_string_expression)]
  @string
[(raw_string_content) (string_literal_content) (string_content)] @text
(interpolation (_) @_brace . (_) @interpolation.value) @interpolation
(binary_expression left: (_) @concat.left operator: "+" right: (_) @concat.right) @concat
(binary_expression left: (_) @choice.option operator: "??" right: (_) @choice.option) @choice
(conditional_expression consequence: (_) @choice.option alternative: (_) @choice.option) @choice
(variable_declarator name: (_) @bind.target (_) @bind.value .) @bind
(assignment_expression left: (member_access_expression expression: (_) @property.object name: (_) @property.name)
  right: (_) @property.value) @property
(assignment_expression left: (_) @append.target operator: "+=" right: (_) @append.value) @append
(assignment_expression left: (_) @bind.target right: (_) @bind.value) @bind
(foreach_statement left: (_) @loop.target right: (_) @loop.value) @loop
(using_directive name: (_) @import.alias (_) @import.module .) @import
(using_directive !name (_) @wildcard.module .) @wildcard
(class_declaration name: (_) @function.name (parameter_list) @function.parameters) @function
(class_declaration name: (_) @local.name) @local
(property_declaration name: (_) @bind.target value: (_) @bind.value) @bind
[(method_declaration) (constructor_declaration) (local_function_statement)] @function
[(array_creation_expression (initializer_expression) @wrap.value)
  (implicit_array_creation_expression (initializer_expression) @wrap.value)
  (collection_element) (expression_element) (parenthesized_expression) (await_expression)
  (cast_expression value: (_) @wrap.value) (parameter name: (_) @wrap.value)] @wrap
(return_statement (_) @returns.value) @returns
