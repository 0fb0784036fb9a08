(class_declaration name: (type_identifier) @name body: (class_body) @body) @definition.class
(abstract_class_declaration name: (type_identifier) @name body: (class_body) @body) @definition.class
(interface_declaration name: (type_identifier) @name body: (_) @body) @definition.interface
(enum_declaration name: (identifier) @name body: (_) @body) @definition.enum
(type_alias_declaration name: (type_identifier) @name) @definition.type
(internal_module name: (_) @name body: (_) @body) @definition.module
(module name: (_) @name body: (_) @body) @definition.module
(function_declaration name: (identifier) @name body: (statement_block) @body) @definition.function
(generator_function_declaration name: (identifier) @name body: (statement_block) @body) @definition.function
(function_signature name: (identifier) @name) @definition.function
(method_definition name: (_) @name body: (statement_block) @body) @definition.method
(method_signature name: (_) @name) @definition.method
(abstract_method_signature name: (_) @name) @definition.method
(variable_declarator name: (identifier) @name value: (arrow_function body: (_) @body)) @definition.function
(variable_declarator name: (identifier) @name value: (function_expression body: (_) @body)) @definition.function
(pair key: (property_identifier) @name value: (arrow_function body: (_) @body)) @definition.function
(public_field_definition name: (_) @name value: (arrow_function body: (_) @body)) @definition.method
(public_field_definition name: (_) @name) @definition.field
(property_signature name: (_) @name) @definition.field
(program (lexical_declaration (variable_declarator name: (identifier) @name)) @definition.constant)
(program (export_statement (lexical_declaration (variable_declarator name: (identifier) @name))) @definition.constant)
(internal_module body: (statement_block
  (export_statement (lexical_declaration (variable_declarator name: (identifier) @name))) @definition.constant))
(call_expression
  function: (identifier) @_runner
  arguments: (arguments . (string) @name [(arrow_function body: (_) @body) (function_expression body: (_) @body)])
  (#any-of? @_runner "describe" "context" "suite" "it" "test" "specify")) @definition.test
(export_statement) @wrapper
(ambient_declaration) @wrapper
(lexical_declaration) @wrapper
(expression_statement (internal_module)) @wrapper
(expression_statement (call_expression)) @wrapper
(comment) @comment
(decorator) @attribute
(import_statement) @import
