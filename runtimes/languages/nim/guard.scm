[(identifier) (exported_symbol)] @identifier
(dot_expression left: (_) @member.object right: (_) @member.name) @member
(bracket_expression left: (_) @index.object right: (argument_list . (_) @index.name .)) @index
(call function: (_) @call.callee (argument_list) @call.arguments) @call
(argument_list) @arguments
(equal_expression left: (_) @pair.name right: (_) @pair.value) @pair
(colon_expression left: (_) @pair.name right: (_) @pair.value) @pair
[(interpreted_string_literal) (raw_string_literal) (long_string_literal)] @string
(string_content) @text
[(array_construction) (tuple_construction)] @list
(prefix_expression (operator) . (_) @wrap.value) @wrap
(parenthesized . (_) @wrap.value .) @wrap
(infix_expression left: (_) @concat.left operator: (operator) @_op right: (_) @concat.right (#eq? @_op "&")) @concat
(infix_expression left: (_) @path.left operator: (operator) @_op right: (_) @path.right (#eq? @_op "/")) @path
(infix_expression left: (_) @append.target operator: (operator) @_op right: (_) @append.value (#eq? @_op "&=")) @append
(if consequence: (_) @choice.option alternative: (else_branch consequence: (_) @choice.option)) @choice
(statement_list . (_) @wrap.value .) @wrap
(variable_declaration (symbol_declaration_list . (_) @bind.target .) value: (_) @bind.value) @bind
(assignment left: (_) @bind.target right: (_) @bind.value) @bind
(for left: (_) @loop.target right: (_) @loop.value) @loop
(import_statement (expression_list (infix_expression left: (_) @import.module operator: (operator) @_as
  right: (_) @import.alias (#eq? @_as "as")) @import))
(proc_declaration name: (_) @function.name parameters: (_) @function.parameters) @function
[(func_declaration) (proc_expression) (func_expression)] @function
(return_statement (_) @returns.value) @returns
