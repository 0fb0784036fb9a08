(class_declaration "interface" name: (identifier) @name (class_body)? @body) @definition.interface
(class_declaration "class" name: (identifier) @name (enum_class_body) @body) @definition.enum
(class_declaration "class" name: (identifier) @name (class_body)? @body) @definition.class
(object_declaration name: (identifier) @name (class_body)? @body) @definition.object
(companion_object "companion" @name (class_body)? @body) @definition.object
(function_declaration name: (identifier) @name (function_body)? @body) @definition.function
(type_alias type: (identifier) @name) @definition.type
(secondary_constructor "constructor" @name (block)? @body) @definition.constructor
(source_file (property_declaration (variable_declaration (identifier) @name)) @definition.constant)
(class_body (property_declaration (variable_declaration (identifier) @name)) @definition.field)
(line_comment) @comment
(block_comment) @comment
(import) @import
(package_header (qualified_identifier) @package)
