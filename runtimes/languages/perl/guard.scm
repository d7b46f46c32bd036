((use_statement module: (package) @_constant (list_expression . (autoquoted_bareword) @bind.target (_) @bind.value .))
  @bind (#eq? @_constant "constant"))
(assignment_expression left: (variable_declaration) @passed.names
  right: (func1op_call_expression) @_shift (#eq? @_shift "shift")) @passed
(assignment_expression left: (variable_declaration) @passed.names
  right: (array) @_all (#eq? @_all "@_")) @passed
[(function (varname (scalar) @wrap.value)) (variable_declaration variable: (_) @wrap.value)
  (refgen_expression)] @wrap
[(function) (scalar) (array) (container_variable) (bareword) (package)] @identifier
(func1op_call_expression function: _ @identifier)
(array_element_expression array: (_) @index.object index: (_) @index.name) @index
(hash_element_expression hash: (_) @index.object key: (_) @index.name) @index
(function_call_expression function: (_) @call.callee arguments: (_) @call.arguments) @call
(ambiguous_function_call_expression function: (_) @call.callee (_) @call.arguments) @call
(method_call_expression invocant: (_) @call.object method: (_) @call.name
  arguments: (_)? @call.arguments) @call
(func1op_call_expression function: _ @call.callee (_) @call.arguments) @call
(coderef_call_expression . (_) @call.callee arguments: (_) @call.arguments) @call
(use_statement module: (_) @wildcard.module) @wildcard
(list_expression) @arguments
[(string_literal) (interpolated_string_literal) (heredoc_content) (autoquoted_bareword)] @string
(string_content) @text
(fileglob_expression (_) @glob.pattern) @glob
["do" "require" "eval"] @identifier
(eval_expression "do" @call.callee (filename (_) @call.arguments)) @call
(require_expression "require" @call.callee
  [(string_literal) (interpolated_string_literal)] @call.arguments) @call
(eval_expression "eval" @call.callee [(interpolated_string_literal) (string_literal) (scalar)
  (binary_expression) (function_call_expression)] @call.arguments) @call
(substitution_regexp (replacement) @evaluates.source (substitution_regexp_modifiers) @_flags
  (#match? @_flags "e")) @evaluates
(assignment_expression left: [(array) @_array (localization_expression (array) @_array)
  (localization_expression (list_expression (array) @_array))]
  (_) @argv.arguments . (#eq? @_array "@ARGV")) @argv
(command_string) @shell
(quoted_word_list) @words
[(anonymous_array_expression) (stub_expression)] @list
(variable_declaration variables: (_)) @targets
(binary_expression left: (_) @concat.left operator: "." right: (_) @concat.right) @concat
(binary_expression left: (_) @choice.option operator: ["||" "//"] right: (_) @choice.option) @choice
(conditional_expression consequent: (_) @choice.option alternative: (_) @choice.option) @choice
(assignment_expression left: (_) @append.target operator: ".=" right: (_) @append.value) @append
(assignment_expression left: (_) @bind.target (_) @bind.value .) @bind
(for_statement variable: (_) @loop.target list: (_) @loop.value) @loop
(subroutine_declaration_statement name: (_) @local.name) @local
