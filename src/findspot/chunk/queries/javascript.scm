(class_declaration name: (identifier) @name body: (class_body) @body) @definition.class
(variable_declarator name: (identifier) @name value: (class body: (class_body) @body)) @definition.class
(function_declaration name: (identifier) @name body: (statement_block) @body) @definition.function
(generator_function_declaration name: (identifier) @name body: (statement_block) @body) @definition.function
(method_definition name: (_) @name body: (statement_block) @body) @definition.method
(variable_declarator name: (identifier) @name value: (arrow_function body: (_) @body)) @definition.function
(variable_declarator name: (identifier) @name value: (function_expression body: (_) @body)) @definition.function
(pair key: (property_identifier) @name value: (arrow_function body: (_) @body)) @definition.function
(pair key: (property_identifier) @name value: (function_expression body: (_) @body)) @definition.function
(field_definition property: (_) @name value: (arrow_function body: (_) @body)) @definition.method
(field_definition property: (_) @name) @definition.field
(assignment_expression
  left: (member_expression
    object: (member_expression object: (identifier) @scope property: (property_identifier) @_prototype)
    property: (property_identifier) @name)
  right: (function_expression body: (_) @body)
  (#eq? @_prototype "prototype")) @definition.function
(assignment_expression
  left: (member_expression property: (property_identifier) @name)
  right: [(function_expression body: (_) @body) (arrow_function body: (_) @body)]) @definition.function
(program (lexical_declaration (variable_declarator name: (identifier) @name)) @definition.constant)
(program (export_statement (lexical_declaration (variable_declarator name: (identifier) @name))) @definition.constant)
(call_expression
  function: (identifier) @_runner
  arguments: (arguments . (string) @name [(arrow_function body: (_) @body) (function_expression body: (_) @body)])
  (#any-of? @_runner "describe" "context" "suite" "it" "test" "specify")) @definition.test
(export_statement) @wrapper
(lexical_declaration) @wrapper
(variable_declaration) @wrapper
(expression_statement (assignment_expression)) @wrapper
(expression_statement (call_expression)) @wrapper
(comment) @comment
(decorator) @attribute
(import_statement) @import
(program (lexical_declaration (variable_declarator value: (call_expression function: (identifier) @_load)))
  @import (#eq? @_load "require"))
