(identifier) @identifier
(attribute object: (_) @member.object attribute: (identifier) @member.name) @member
(subscript value: (_) @index.object subscript: (_) @index.name) @index
(call function: (list_splat (_) @call.callee) arguments: (_) @call.arguments) @call
(call function: (_) @call.callee arguments: (_) @call.arguments) @call
(argument_list) @arguments
(keyword_argument name: (_) @pair.name value: (_) @pair.value) @pair
(pair key: (_) @pair.name value: (_) @pair.value) @pair
(dictionary) @map
[(string) (concatenated_string)] @string
(string_content) @text
(interpolation expression: (_) @interpolation.value) @interpolation
[(list) (tuple) (set)] @list
[(list_comprehension body: (_) @comprehension.value) (generator_expression body: (_) @comprehension.value)]
  @comprehension
(list_splat) @spread
[(parenthesized_expression) (await)] @wrap
(binary_operator left: (_) @concat.left operator: "+" right: (_) @concat.right) @concat
(binary_operator left: (_) @path.left operator: "/" right: (_) @path.right) @path
(binary_operator left: (_) @format.template operator: "%" right: (_) @format.value) @format
(conditional_expression (_) @choice.option (_) (_) @choice.option) @choice
(boolean_operator left: (_) @choice.option right: (_) @choice.option) @choice
(assignment left: (_) @bind.target right: (_) @bind.value) @bind
(named_expression name: (_) @bind.target value: (_) @bind.value) @bind
(pattern_list) @targets
(augmented_assignment left: (_) @append.target right: (_) @append.value) @append
(for_statement left: (_) @loop.target right: (_) @loop.value) @loop
(for_in_clause left: (_) @loop.target right: (_) @loop.value) @loop
(as_pattern (_) @bind.value alias: (as_pattern_target (_) @bind.target)) @bind
(import_statement name: (dotted_name) @import.module) @import
(import_statement name: (aliased_import name: (_) @import.module alias: (_) @import.alias)) @import
(import_from_statement module_name: (_) @wildcard.module (wildcard_import)) @wildcard
(import_from_statement module_name: (_) @import.module
  name: (aliased_import name: (_) @import.name alias: (_) @import.alias) @import)
(import_from_statement module_name: (_) @import.module name: (dotted_name) @import.name @import)
[(function_definition) (lambda)] @function
(class_definition name: (_) @local.name) @local
(return_statement (_) @returns.value) @returns
