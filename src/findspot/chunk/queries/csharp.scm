(class_declaration name: (identifier) @name body: (_)? @body) @definition.class
(struct_declaration name: (identifier) @name body: (_)? @body) @definition.struct
(interface_declaration name: (identifier) @name body: (_)? @body) @definition.interface
(enum_declaration name: (identifier) @name body: (_)? @body) @definition.enum
(record_declaration name: (identifier) @name body: (_)? @body) @definition.record
(delegate_declaration name: (identifier) @name) @definition.type
(namespace_declaration name: (_) @name body: (_) @body) @definition.module
(method_declaration name: (identifier) @name body: (_)? @body) @definition.method
(local_function_statement name: (identifier) @name body: (_)? @body) @definition.function
(constructor_declaration name: (identifier) @name body: (_)? @body) @definition.constructor
(destructor_declaration name: (identifier) @name body: (_)? @body) @definition.method
(operator_declaration operator: _ @name body: (_)? @body) @definition.method
(indexer_declaration "this" @name) @definition.property
(property_declaration name: (identifier) @name accessors: (_)? @body) @definition.property
(event_field_declaration (variable_declaration (variable_declarator name: (identifier) @name))) @definition.field
(field_declaration (variable_declaration (variable_declarator name: (identifier) @name))) @definition.field
(comment) @comment
(using_directive) @import
(file_scoped_namespace_declaration name: (_) @package)
