(call !receiver method: (identifier) @call
  arguments: (argument_list . (string) @module))
(call !receiver method: (identifier) @call
  arguments: (argument_list . (simple_symbol) . (string) @module))
