(class_declaration declaration_kind: "struct" name: (_) @name body: (_) @body) @definition.struct
(class_declaration declaration_kind: "enum" name: (_) @name body: (_) @body) @definition.enum
(class_declaration declaration_kind: "extension" name: (_) @name body: (_) @body) @definition.extension
(class_declaration name: (_) @name body: (_) @body) @definition.class
(protocol_declaration name: (_) @name body: (_) @body) @definition.protocol
(function_declaration name: (simple_identifier) @name body: (_)? @body) @definition.function
(protocol_function_declaration name: (simple_identifier) @name) @definition.method
(init_declaration "init" @name body: (_)? @body) @definition.constructor
(deinit_declaration "deinit" @name body: (_) @body) @definition.method
(subscript_declaration "subscript" @name) @definition.method
(typealias_declaration . (modifiers)? . name: (type_identifier) @name) @definition.type
(associatedtype_declaration name: (type_identifier) @name) @definition.type
(source_file (property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @definition.constant)
(class_body (property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @definition.field)
(enum_class_body (property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @definition.field)
(protocol_property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @definition.field
(comment) @comment
(multiline_comment) @comment
(import_declaration) @import
