"""Which parts of a program are definitions, per language, as tree-sitter queries.

One row a language. `@def` is a definition and `@name` what it is called (`@owner` what it hangs
on, where that stands beside it); `@lead` belongs to the definition that directly follows it
(comments, attributes), `@wrap` to the `@inner` one it contains (decorators, export). To add a
language: a row here, and a sample in tests/kb/test_code.py.

Grammars come from tree-sitter-language-pack, loaded one at a time when first needed. Its `cobol`
is left out: its scanner never returns on some short inputs.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from tree_sitter import Language, Query
    from tree_sitter_language_pack import SupportedLanguage

_C = """
(function_definition declarator: (_) @name) @def
(struct_specifier name: (_) @name body: (_)) @def
(union_specifier name: (_) @name body: (_)) @def
(enum_specifier name: (_) @name body: (_)) @def
(type_definition declarator: (_) @name) @def
(preproc_function_def name: (_) @name) @def
(comment) @lead
"""

_JAVASCRIPT = """
(function_declaration name: (_) @name) @def
(generator_function_declaration name: (_) @name) @def
(class_declaration name: (_) @name) @def
(method_definition name: (_) @name) @def
(lexical_declaration (variable_declarator name: (_) @name
  value: [(arrow_function) (function_expression) (class)])) @def
(variable_declaration (variable_declarator name: (_) @name
  value: [(arrow_function) (function_expression) (class)])) @def
(assignment_expression left: (member_expression) @name
  right: [(arrow_function) (function_expression) (class)]) @def
(pair key: (_) @name value: [(arrow_function) (function_expression)]) @def
(comment) @lead
(export_statement declaration: (_) @inner) @wrap
"""

_TYPESCRIPT = (
    _JAVASCRIPT
    + """
(abstract_class_declaration name: (_) @name) @def
(interface_declaration name: (_) @name) @def
(type_alias_declaration name: (_) @name) @def
(enum_declaration name: (_) @name) @def
(internal_module name: (_) @name) @def
(module name: (_) @name) @def
(function_signature name: (_) @name) @def
(decorator) @lead
(ambient_declaration (_) @inner) @wrap
"""
)

QUERIES: dict[str, str] = {
    "bash": """
        (function_definition name: (_) @name) @def
        (comment) @lead
    """,
    "c": _C,
    "cpp": _C
    + """
        (class_specifier name: (_) @name body: (_)) @def
        (namespace_definition name: (_) @name) @def
        (concept_definition name: (_) @name) @def
        (alias_declaration name: (_) @name) @def
        (template_declaration (_) @inner) @wrap
    """,
    "csharp": """
        [(class_declaration) (interface_declaration) (struct_declaration) (record_declaration)
         (enum_declaration) (method_declaration) (constructor_declaration) (property_declaration)
         (delegate_declaration) (namespace_declaration) (local_function_statement)
        ] @def
        (comment) @lead
    """,
    "dart": """
        (class_definition name: (_) @name) @def
        (enum_declaration name: (_) @name) @def
        (mixin_declaration (identifier) @name) @def
        (extension_declaration name: (_) @name) @def
        (function_signature name: (_) @name) @def
        (comment) @lead
        (documentation_comment) @lead
    """,
    "elixir": """
        (call target: (identifier) @word (arguments (alias) @name)
          (#any-of? @word "defmodule" "defprotocol" "defimpl")) @def
        (call target: (identifier) @word
          (arguments [(identifier) @name (call target: (_) @name)
            (binary_operator left: [(identifier) @name (call target: (_) @name)])])
          (#any-of? @word "def" "defp" "defmacro" "defmacrop" "defguard" "defdelegate")) @def
        (call target: (identifier) @word (arguments (string) @name)
          (#any-of? @word "test" "describe")) @def
        (comment) @lead
        (unary_operator operator: "@" operand: (call target: (identifier) @word
          (#any-of? @word "doc" "spec" "impl" "moduledoc" "typedoc"))) @lead
    """,
    "go": """
        (function_declaration name: (_) @name) @def
        (method_declaration receiver: (parameter_list (parameter_declaration type: (_) @owner))
          name: (_) @name) @def
        (type_declaration (type_spec name: (_) @name)) @def
        (type_declaration (type_alias name: (_) @name)) @def
        (const_declaration) @def
        (var_declaration) @def
        (comment) @lead
    """,
    "haskell": """
        (function name: (_) @name) @def
        (data_type name: (_) @name) @def
        (class name: (_) @name) @def
        (instance name: (_) @name) @def
        (signature name: (_)) @lead
        (comment) @lead
        (haddock) @lead
    """,
    "hcl": """
        (body (block (identifier) @name (string_lit)* @name) @def)
        (comment) @lead
    """,
    "java": """
        [(class_declaration) (interface_declaration) (enum_declaration) (record_declaration)
         (annotation_type_declaration) (method_declaration) (constructor_declaration)
        ] @def
        (line_comment) @lead
        (block_comment) @lead
    """,
    "javascript": _JAVASCRIPT,
    "julia": """
        (function_definition (signature (call_expression . (_) @name))) @def
        (struct_definition (type_head (_) @name)) @def
        (module_definition name: (_) @name) @def
        (macro_definition (signature (call_expression . (_) @name))) @def
        (line_comment) @lead
        (string_literal) @lead
    """,
    "kotlin": """
        (class_declaration (type_identifier) @name) @def
        (object_declaration (type_identifier) @name) @def
        (function_declaration (simple_identifier) @name) @def
        (line_comment) @lead
        (multiline_comment) @lead
    """,
    "lua": """
        (function_declaration name: (_) @name) @def
        (assignment_statement (variable_list name: (_) @name)
          (expression_list value: (function_definition))) @def
        (comment) @lead
    """,
    "make": """
        (rule (targets) @name) @def
        (define_directive name: (_) @name) @def
        (comment) @lead
    """,
    "objc": """
        (class_interface . (identifier) @name) @def
        (class_implementation . (identifier) @name) @def
        (protocol_declaration . (identifier) @name) @def
        (method_definition (identifier) @name) @def
        (function_definition declarator: (_) @name) @def
        (comment) @lead
    """,
    "ocaml": """
        (value_definition (let_binding pattern: (value_name) @name)) @def
        (type_definition (type_binding name: (_) @name)) @def
        (module_definition (module_binding (module_name) @name)) @def
        (comment) @lead
    """,
    "perl": """
        (subroutine_declaration_statement name: (_) @name) @def
        (comment) @lead
        (pod) @lead
    """,
    "php": """
        [(class_declaration) (interface_declaration) (trait_declaration) (enum_declaration)
         (function_definition) (method_declaration)] @def
        (comment) @lead
    """,
    "powershell": """
        (function_statement (function_name) @name) @def
        (class_statement (simple_name) @name) @def
        (comment) @lead
    """,
    "python": """
        (function_definition name: (_) @name) @def
        (class_definition name: (_) @name) @def
        (comment) @lead
        (decorated_definition definition: (_) @inner) @wrap
    """,
    "r": """
        (binary_operator lhs: (_) @name rhs: (function_definition)) @def
        (comment) @lead
    """,
    "ruby": """
        (method name: (_) @name) @def
        (singleton_method name: (_) @name) @def
        (class name: (_) @name) @def
        (module name: (_) @name) @def
        (comment) @lead
    """,
    "rust": """
        [(function_item) (struct_item) (enum_item) (union_item) (trait_item) (mod_item)
         (macro_definition) (const_item) (static_item) (type_item) (function_signature_item)
        ] @def
        (impl_item type: (_) @name) @def
        (line_comment) @lead
        (block_comment) @lead
        (attribute_item) @lead
    """,
    "scala": """
        [(class_definition) (object_definition) (trait_definition) (enum_definition)
         (function_definition) (function_declaration) (given_definition)] @def
        (comment) @lead
        (block_comment) @lead
    """,
    "sql": """
        (create_table (object_reference) @name) @def
        (create_view (object_reference) @name) @def
        (create_function (object_reference) @name) @def
        (create_index) @def
        (comment) @lead
    """,
    "swift": """
        (class_declaration name: (_) @name) @def
        (protocol_declaration name: (_) @name) @def
        (function_declaration name: (_) @name) @def
        (init_declaration "init" @name) @def
        (comment) @lead
        (multiline_comment) @lead
    """,
    "tsx": _TYPESCRIPT,
    "typescript": _TYPESCRIPT,
    "zig": """
        (Decl (FnProto function: (_) @name)) @def
        (Decl (VarDecl variable_type_function: (_) @name
          (ErrorUnionExpr (SuffixExpr (ContainerDecl))))) @def
        (TestDecl (STRINGLITERALSINGLE) @name) @def
        (line_comment) @lead
        (doc_comment) @lead
    """,
}
"""Definitions by language. Where a pattern has no `@name` the node's `name` field is the name."""


@cache
def grammar(language: str) -> tuple[Language, Query]:
    """Return the grammar of `language`, and the query for its definitions.

    Raises:
        KeyError: no row in `QUERIES` describes it.
    """
    from tree_sitter import Query  # noqa: PLC0415 - grammars load when first needed
    from tree_sitter_language_pack import get_language  # noqa: PLC0415

    source = QUERIES[language]
    loaded = get_language(cast("SupportedLanguage", language))
    return loaded, Query(loaded, source)
