(class_declaration name: (identifier) @name body: (class_body) @body) @definition.class
(interface_declaration name: (identifier) @name body: (_) @body) @definition.interface
(enum_declaration name: (identifier) @name body: (_) @body) @definition.enum
(record_declaration name: (identifier) @name body: (_) @body) @definition.record
(annotation_type_declaration name: (identifier) @name body: (_) @body) @definition.interface
(method_declaration name: (identifier) @name body: (block)? @body) @definition.method
(constructor_declaration name: (identifier) @name body: (_) @body) @definition.constructor
(compact_constructor_declaration name: (identifier) @name body: (_) @body) @definition.constructor
(annotation_type_element_declaration name: (identifier) @name) @definition.method
(field_declaration declarator: (variable_declarator name: (identifier) @name)) @definition.field
(constant_declaration declarator: (variable_declarator name: (identifier) @name)) @definition.constant
(line_comment) @comment
(block_comment) @comment
(import_declaration) @import
(package_declaration [(scoped_identifier) (identifier)] @package)
