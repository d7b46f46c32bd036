(proc_declaration name: [(identifier) @name (exported_symbol (_) @name)]) @def
(func_declaration name: [(identifier) @name (exported_symbol (_) @name)]) @def
(method_declaration name: [(identifier) @name (exported_symbol (_) @name)]) @def
(iterator_declaration name: [(identifier) @name (exported_symbol (_) @name)]) @def
(converter_declaration name: [(identifier) @name (exported_symbol (_) @name)]) @def
(template_declaration name: [(identifier) @name (exported_symbol (_) @name)]) @def
(macro_declaration name: [(identifier) @name (exported_symbol (_) @name)]) @def
(type_declaration (type_symbol_declaration name: [(identifier) @name (exported_symbol (_) @name)])) @def
(comment) @lead
