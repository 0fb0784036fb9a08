; inherits: shared/ecmascript_definitions
(class_declaration name: (identifier) @name body: (class_body) @body) @definition.class
(field_definition property: (_) @name value: (arrow_function body: (_) @body)) @definition.method
(field_definition property: (_) @name) @definition.field
(program (lexical_declaration (variable_declarator value: (call_expression function: (identifier) @_load)))
  @import (#eq? @_load "require"))
