[(identifier) (type_identifier) (scoped_type_identifier)] @identifier
(field_access object: (_) @member.object field: (_) @member.name) @member
(method_reference . (_) @member.object (identifier) @member.name .) @member
(scoped_identifier scope: (_) @member.object name: (_) @member.name) @member
(array_access array: (_) @index.object index: (_) @index.name) @index
(method_invocation object: (_) @call.object name: (_) @call.name arguments: (_) @call.arguments) @call
(method_invocation !object name: (_) @call.callee arguments: (_) @call.arguments) @call
(object_creation_expression type: [(generic_type . (_) @call.callee) (_) @call.callee]
  arguments: (_) @call.arguments) @call
(array_initializer) @list
(argument_list) @arguments
(string_literal) @string
[(string_fragment) (multiline_string_fragment)] @text
(binary_expression left: (_) @concat.left operator: "+" right: (_) @concat.right) @concat
(ternary_expression consequence: (_) @choice.option alternative: (_) @choice.option) @choice
(variable_declarator name: (_) @bind.target value: (_) @bind.value) @bind
(assignment_expression left: (_) @append.target operator: "+=" right: (_) @append.value) @append
(assignment_expression left: (_) @bind.target right: (_) @bind.value) @bind
(resource name: (_) @bind.target value: (_) @bind.value) @bind
(enhanced_for_statement name: (_) @loop.target value: (_) @loop.value) @loop
(import_declaration (scoped_identifier) @wildcard.module (asterisk)) @wildcard
(import_declaration (scoped_identifier name: (_) @import.alias) @import.module .) @import
[(method_declaration) (constructor_declaration) (lambda_expression)] @function
[(array_creation_expression value: (_) @wrap.value) (parenthesized_expression)
  (cast_expression value: (_) @wrap.value) (formal_parameter name: (_) @wrap.value)] @wrap
(return_statement (_) @returns.value) @returns
