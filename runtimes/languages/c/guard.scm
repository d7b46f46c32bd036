(subscript_expression argument: (_) @index.object index: (_) @index.name) @index
