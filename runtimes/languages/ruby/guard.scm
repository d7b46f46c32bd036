[(identifier) (constant) (instance_variable) (global_variable) (self)] @identifier
(scope_resolution scope: (_) @member.object name: (_) @member.name) @member
(scope_resolution !scope name: (_) @wrap.value) @wrap
(call !receiver method: [(identifier) (constant)] @call.callee arguments: (_) @call.arguments) @call
(call receiver: (_) @call.object method: (_) @call.name arguments: (_)? @call.arguments) @call
(call receiver: (_) @call.callee !method arguments: (_) @call.arguments) @call
(element_reference object: (_) @index.object . (_) @index.name) @index
(argument_list) @arguments
(pair key: (_) @pair.name value: (_) @pair.value) @pair
(hash) @map
[(string) (heredoc_body) (chained_string) (simple_symbol) (delimited_symbol) (bare_string)] @string
[(string_content) (heredoc_content)] @text
(interpolation) @interpolation
(array) @list
[(string_array) (symbol_array)] @words
(subshell) @shell
(splat_argument) @spread
[(block_argument (_) @wrap.value) (parenthesized_statements (_) @wrap.value .)] @wrap
(binary left: (_) @concat.left operator: "+" right: (_) @concat.right) @concat
(binary left: (_) @path.left operator: "/" right: (_) @path.right) @path
(binary left: (_) @append.target operator: "<<" right: (_) @append.value) @append
(binary left: (_) @format.template operator: "%" right: (_) @format.value) @format
(binary left: (_) @choice.option operator: ["||" "or"] right: (_) @choice.option) @choice
(conditional consequence: (_) @choice.option alternative: (_) @choice.option) @choice
(assignment left: (_) @bind.target right: (_) @bind.value) @bind
(left_assignment_list) @targets
(operator_assignment left: (_) @append.target right: (_) @append.value) @append
(for pattern: (_) @loop.target value: (_) @loop.value) @loop
[(block) (do_block) (method)] @function
(call !receiver method: (identifier) @_include arguments: (argument_list . (constant) @wildcard.module)
  (#match? @_include "^(include|extend)$")) @wildcard
(call !receiver method: (identifier) @_require arguments: (argument_list . (string) @loads.module)
  (#match? @_require "^require(_relative)?$")) @loads
