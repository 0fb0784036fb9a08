(statement (create_table (object_reference name: (identifier) @name))) @definition.table
(statement (create_view (object_reference name: (identifier) @name))) @definition.view
(statement (create_materialized_view (object_reference name: (identifier) @name))) @definition.view
(statement (create_index column: (identifier) @name)) @definition.index
(statement (create_function (object_reference name: (identifier) @name) (function_body) @body)) @definition.function
(statement (create_type (object_reference name: (identifier) @name))) @definition.type
(comment) @comment
(marginalia) @comment
