(class_definition name: (_) @name body: (_)? @body) @definition.class
(object_definition name: (_) @name body: (_)? @body) @definition.object
(trait_definition name: (_) @name body: (_)? @body) @definition.trait
(enum_definition name: (_) @name body: (_)? @body) @definition.enum
(function_definition name: (_) @name body: (_) @body) @definition.function
(function_declaration name: (_) @name) @definition.function
(type_definition name: (_) @name) @definition.type
(given_definition name: (_) @name body: (_)? @body) @definition.constant
(template_body (val_definition pattern: (identifier) @name) @definition.field)
(template_body (var_definition pattern: (identifier) @name) @definition.field)
(compilation_unit (val_definition pattern: (identifier) @name) @definition.constant)
(package_object name: (_) @name body: (_) @body) @definition.module
(comment) @comment
(block_comment) @comment
(import_declaration) @import
(package_clause name: (package_identifier) @package)
