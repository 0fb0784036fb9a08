(function_declaration name: (identifier) @name body: (_)? @body) @definition.function
(function_declaration
  name: [(dot_index_expression table: (_) @scope field: (identifier) @name)
         (method_index_expression table: (_) @scope method: (identifier) @name)] body: (_)? @body) @definition.function
(assignment_statement
  (variable_list . name: (identifier) @name)
  (expression_list . value: (function_definition body: (_)? @body))) @definition.function
(assignment_statement
  (variable_list . name: (dot_index_expression table: (_) @scope field: (identifier) @name))
  (expression_list . value: (function_definition body: (_)? @body))) @definition.function
(field name: (identifier) @name value: (function_definition body: (_)? @body)) @definition.function
(chunk (variable_declaration (assignment_statement (variable_list . name: (identifier) @name))) @definition.constant)
(chunk (assignment_statement (variable_list . name: (identifier) @name)) @definition.constant)
(variable_declaration) @wrapper
(comment) @comment
(variable_declaration (assignment_statement (expression_list value: (function_call name: (identifier) @_load)))
  (#eq? @_load "require")) @import
