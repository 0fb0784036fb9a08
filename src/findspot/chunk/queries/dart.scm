(class_definition name: (identifier) @name body: (class_body) @body) @definition.class
(enum_declaration name: (identifier) @name body: (_) @body) @definition.enum
(mixin_declaration (identifier) @name (class_body) @body) @definition.mixin
(extension_declaration name: (identifier) @name body: (_) @body) @definition.extension
(function_signature name: (identifier) @name) @definition.function
(constructor_signature name: (identifier) @name) @definition.constructor
(comment) @comment
(documentation_comment) @comment
(import_or_export) @import
