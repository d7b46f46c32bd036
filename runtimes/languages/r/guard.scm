(identifier) @identifier
(namespace_operator lhs: (_) @member.object rhs: (_) @member.name) @member
(extract_operator lhs: (_) @member.object rhs: (_) @member.name) @member
(subset2 function: (_) @index.object arguments: (_) @index.name) @index
(subset function: (_) @index.object arguments: (_) @index.name) @index
(call function: (_) @call.callee arguments: (_) @call.arguments) @call
(arguments) @arguments
(argument name: (_) @pair.name value: (_) @pair.value) @pair
(string) @string
(string_content) @text
[(argument value: (_) @wrap.value) (parenthesized_expression)] @wrap
(binary_operator lhs: (identifier) @function.name operator: ["<-" "=" "<<-"]
  rhs: (function_definition) @function)
(function_definition) @function
(binary_operator lhs: (_) @bind.target operator: ["<-" "=" "<<-" ":="] rhs: (_) @bind.value) @bind
(binary_operator lhs: (_) @bind.value operator: ["->" "->>"] rhs: (_) @bind.target) @bind
(binary_operator lhs: (_) @pipe.value operator: "|>" rhs: (call) @pipe.call) @pipe
(binary_operator lhs: (_) @pipe.value operator: "special" rhs: (call) @pipe.call) @pipe
(binary_operator lhs: (_) @call.arguments operator: ["special" "|>"] rhs: (identifier) @call.callee) @call
(if_statement consequence: (_) @choice.option alternative: (_) @choice.option) @choice
(for_statement variable: (_) @loop.target sequence: (_) @loop.value) @loop
(call function: (identifier) @_library arguments: (arguments (argument value: (_) @wildcard.module)) @wildcard
  (#match? @_library "^(library|require|attachNamespace)$"))
