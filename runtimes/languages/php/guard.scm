[(variable_name) (name) (qualified_name)] @identifier
(class_constant_access_expression . (_) @member.object (_) @member.name .) @member
(member_access_expression object: (_) @member.object name: (_) @member.name) @member
(subscript_expression . (_) @index.object (_) @index.name .) @index
(function_call_expression function: (_) @call.callee arguments: (_) @call.arguments) @call
(member_call_expression object: (_) @call.object name: (_) @call.name arguments: (_) @call.arguments) @call
(scoped_call_expression scope: (_) @call.object name: (_) @call.name arguments: (_) @call.arguments) @call
(object_creation_expression . [(name) (qualified_name)] @call.callee
  (arguments) @call.arguments) @call
(arguments) @arguments
(argument name: (_) @pair.name (_) @pair.value .) @pair
(array_element_initializer (_) @pair.name (_) @pair.value) @pair
(array_creation_expression) @list
(variadic_unpacking) @spread
[(string) (encapsed_string) (heredoc) (nowdoc)] @string
[(heredoc_body) (nowdoc_body) (string_content)] @text
(shell_command_expression) @shell
[(argument (_) @wrap.value .) (array_element_initializer) (parenthesized_expression)
  (cast_expression value: (_) @wrap.value)] @wrap
(binary_expression left: (_) @concat.left operator: ["." "+"] right: (_) @concat.right) @concat
(binary_expression left: (_) @choice.option operator: ["??" "||"] right: (_) @choice.option) @choice
(conditional_expression condition: (_) @choice.option !body alternative: (_) @choice.option) @choice
(conditional_expression body: (_) @choice.option alternative: (_) @choice.option) @choice
(assignment_expression left: (subscript_expression . (variable_name) @append.target .) right: (_) @append.value) @append
(assignment_expression left: (_) @bind.target right: (_) @bind.value) @bind
(augmented_assignment_expression left: (_) @append.target right: (_) @append.value) @append
(property_element name: (_) @bind.target default_value: (_) @bind.value) @bind
(const_element . (name) @bind.target (_) @bind.value .) @bind
(foreach_statement . (_) @loop.value . (variable_name) @loop.target) @loop
(foreach_statement . (_) @loop.value . (pair (_) (variable_name) @loop.target)) @loop
(namespace_use_declaration (namespace_use_clause . (_) @import.module alias: (_)? @import.alias)
  @import)
[(function_definition) (anonymous_function) (arrow_function) (method_declaration)] @function
["include" "include_once" "require" "require_once"] @identifier
(include_expression _ @call.callee (_) @call.arguments) @call
(include_once_expression _ @call.callee (_) @call.arguments) @call
(require_expression _ @call.callee (_) @call.arguments) @call
(require_once_expression _ @call.callee (_) @call.arguments) @call
(return_statement (_) @returns.value) @returns
