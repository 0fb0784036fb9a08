(class_definition name: (identifier) @name body: (block) @body) @definition.class
(function_definition name: (identifier) @name body: (block) @body) @definition.function
(type_alias_statement left: (type (_) @name)) @definition.type
(module (expression_statement (assignment left: (identifier) @name)) @definition.constant)
(class_definition body: (block (expression_statement (assignment left: (identifier) @name)) @definition.field))
(decorated_definition) @wrapper
(class_definition body: (block . (expression_statement (string) @doc)))
(function_definition body: (block . (expression_statement (string) @doc)))
(comment) @comment
(import_statement) @import
(import_from_statement) @import
(future_import_statement) @import
