(variable_declaration . (identifier) @name (struct_declaration)) @definition.struct
(variable_declaration . (identifier) @name (enum_declaration)) @definition.enum
(variable_declaration . (identifier) @name (union_declaration)) @definition.union
(variable_declaration . (identifier) @name (opaque_declaration)) @definition.type
(variable_declaration . (identifier) @name (error_set_declaration)) @definition.enum
(function_declaration name: (identifier) @name body: (_)? @body) @definition.function
(test_declaration [(string) (identifier)] @name (block) @body) @definition.test
(source_file (variable_declaration . (identifier) @name) @definition.constant)
(struct_declaration (variable_declaration . (identifier) @name) @definition.constant)
(container_field name: (identifier) @name type: (_)) @definition.field
(comment) @comment
(variable_declaration (builtin_function (builtin_identifier) @_load) (#eq? @_load "@import")) @import
(variable_declaration (field_expression object: (builtin_function (builtin_identifier) @_load))
  (#eq? @_load "@import")) @import
