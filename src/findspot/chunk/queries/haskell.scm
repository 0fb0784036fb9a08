(data_type name: (_) @name) @definition.type
(newtype name: (_) @name) @definition.type
(type_synonym name: (_) @name) @definition.type
(type_family name: (_) @name) @definition.type
(class name: (_) @name declarations: (_)? @body) @definition.class
(instance name: (_) @name declarations: (_)? @body) @definition.impl
(signature name: (_) @name (#set! clauses)) @definition.function
(function name: (_) @name (#set! clauses)) @definition.function
(declarations (bind name: (_) @name (#set! clauses)) @definition.function)
(function (infix operator: (operator) @name) (#set! clauses)) @definition.function
(comment) @comment
(haddock) @comment
(import) @import
(header module: (module) @package)
