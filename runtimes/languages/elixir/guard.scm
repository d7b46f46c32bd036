(sigil (sigil_name) @_name (#match? @_name "^[wW]$")) @words
[(identifier) (alias)] @identifier
(atom) @atom
(call target: (identifier) @_alias (arguments (alias) @import.module
  (keywords (pair value: (alias) @import.alias))) @import (#eq? @_alias "alias"))
(call target: (identifier) @_import (arguments . (_) @wildcard.module) @wildcard (#eq? @_import "import"))
(call target: (identifier) @_def (arguments (call target: (identifier) @function.name
  (arguments) @function.parameters) @function) (#match? @_def "^defp?$"))
(call target: (dot left: (_) @call.object right: (_) @call.name) (arguments) @call.arguments) @call
(call target: (identifier) @call.callee (arguments) @call.arguments) @call
(call target: (dot left: (_) @call.callee !right) (arguments) @call.arguments) @call
(arguments) @arguments
(keywords) @keywords
(pair key: (_) @pair.name value: (_) @pair.value) @pair
(map) @map
[(string) (charlist) (sigil)] @string
(quoted_content) @text
(interpolation) @interpolation
[(list) (tuple)] @list
(binary_operator left: (_) @cons.left operator: "|" right: (_) @cons.right) @cons
(call target: (dot left: (_) @member.object right: (_) @member.name) .) @member
(block) @block
(binary_operator left: (_) @concat.left operator: ["<>" "++"] right: (_) @concat.right) @concat
(binary_operator left: (_) @loop.target operator: "<-" right: (_) @loop.value) @loop
(binary_operator left: (_) @bind.target operator: "=" right: (_) @bind.value) @bind
(binary_operator left: (_) @choice.option operator: "||" right: (_) @choice.option) @choice
(binary_operator left: (_) @call.arguments operator: "|>"
  right: (call target: (dot left: (_) @call.object right: (identifier) @call.name) .)) @call
(binary_operator left: (_) @pipe.value operator: "|>" right: (call) @pipe.call) @pipe
(unary_operator operator: "&" operand: (integer)) @placeholder
[(binary_operator left: (_) @wrap.value operator: "/" right: (integer)) (unary_operator)] @wrap
(anonymous_function (stab_clause left: (arguments) @function.parameters)) @function
