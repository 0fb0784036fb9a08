; inherits: shared/ecmascript_definitions
(class_declaration name: (type_identifier) @name body: (class_body) @body) @definition.class
(abstract_class_declaration name: (type_identifier) @name body: (class_body) @body) @definition.class
(interface_declaration name: (type_identifier) @name body: (_) @body) @definition.interface
(enum_declaration name: (identifier) @name body: (_) @body) @definition.enum
(type_alias_declaration name: (type_identifier) @name) @definition.type
(internal_module name: (_) @name body: (_) @body) @definition.module
(module name: (_) @name body: (_) @body) @definition.module
((function_signature name: (identifier) @name) @definition.function (#set! clauses))
((method_signature name: (_) @name) @definition.method (#set! clauses))
(abstract_method_signature name: (_) @name) @definition.method
(public_field_definition name: (_) @name value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)])
  @definition.method
(public_field_definition name: (_) @name) @definition.field
(property_signature name: (_) @name) @definition.field
(internal_module body: (statement_block
  (export_statement (lexical_declaration (variable_declarator name: (identifier) @name))) @definition.constant))
(ambient_declaration) @wrapper
(expression_statement (internal_module)) @wrapper
