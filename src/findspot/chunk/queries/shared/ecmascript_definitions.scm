; `(_ object: … property: …)` is a member expression. With its type, the query takes a fifth longer to compile.
(export_statement "default" @name value: (class body: (_) @body)) @definition.class
(export_statement "default" @name
  value: [(function_expression body: (_) @body) (generator_function body: (_) @body) (arrow_function body: (_) @body)])
  @definition.function
(export_statement "default" @name value: (object [(method_definition) (pair value: [(arrow_function) (function_expression)])]))
  @definition.constant
(assignment_expression left: (member_expression) @_module right: (class name: (_) @name body: (_) @body)
  (#eq? @_module "module.exports")) @definition.class
(assignment_expression left: (member_expression) @name right: (class body: (_) @body)
  (#eq? @name "module.exports") (#set! named default)) @definition.class
(assignment_expression left: (member_expression) @_module
  right: [(function_expression name: (_) @name body: (_) @body) (generator_function name: (_) @name body: (_) @body)]
  (#eq? @_module "module.exports")) @definition.function
(assignment_expression left: (member_expression) @name
  right: [(function_expression body: (_) @body) (generator_function body: (_) @body) (arrow_function body: (_) @body)]
  (#eq? @name "module.exports") (#set! named default)) @definition.function
(variable_declarator name: (identifier) @name value: (class body: (_) @body)) @definition.class
(variable_declarator name: (identifier) @name
  value: [(arrow_function body: (_) @body) (function_expression body: (_) @body) (generator_function body: (_) @body)])
  @definition.function
(program (lexical_declaration (variable_declarator name: (identifier) @name)) @definition.constant)
(program (export_statement (lexical_declaration (variable_declarator name: (identifier) @name))) @definition.constant)
(program (variable_declaration (variable_declarator name: (identifier) @name
  value: [(object) (array) (assignment_expression) (new_expression) (call_expression function: (member_expression))]))
  @definition.constant)
(variable_declarator name: (identifier) @name
  value: (object [(method_definition) (pair value: [(arrow_function) (function_expression)])])) @definition.constant
(variable_declarator name: (identifier) @name
  value: [
    (assignment_expression right: (object [(method_definition) (pair value: [(arrow_function) (function_expression)])]))
    (parenthesized_expression (assignment_expression
      right: (object [(method_definition) (pair value: [(arrow_function) (function_expression)])])))
  ]) @definition.constant
(expression_statement (assignment_expression left: (member_expression) @name
  right: (object [(method_definition) (pair value: [(arrow_function) (function_expression)])])) @definition.constant
  (#eq? @name "module.exports") (#set! named default))
(expression_statement (assignment_expression
  left: (_ object: (identifier) @_exports property: (property_identifier) @name)
  right: (object [(method_definition) (pair value: [(arrow_function) (function_expression)])])) @definition.constant
  (#eq? @_exports "exports"))
(assignment_expression
  left: (_ object: (identifier) @scope property: (property_identifier) @_prototype)
  right: (object (method_definition name: (_) @name body: (_) @body) @definition.method)
  (#eq? @_prototype "prototype"))
(assignment_expression
  left: (_ object: (identifier) @scope property: (property_identifier) @_prototype)
  right: (object (pair key: (property_identifier) @name value: [(function_expression body: (_) @body) (generator_function body: (_) @body) (arrow_function body: (_) @body)]) @definition.method)
  (#eq? @_prototype "prototype"))
(call_expression function: (member_expression) @_assign
  arguments: (arguments . (_ object: (identifier) @scope property: (property_identifier) @_prototype)
    (object (method_definition name: (_) @name body: (_) @body) @definition.method))
  (#eq? @_assign "Object.assign") (#eq? @_prototype "prototype"))
(call_expression function: (member_expression) @_assign
  arguments: (arguments . (_ object: (identifier) @scope property: (property_identifier) @_prototype)
    (object (pair key: (property_identifier) @name value: [(function_expression body: (_) @body) (generator_function body: (_) @body) (arrow_function body: (_) @body)]) @definition.method))
  (#eq? @_assign "Object.assign") (#eq? @_prototype "prototype"))
((function_declaration name: (identifier) @name body: (statement_block) @body) @definition.function (#set! clauses))
(generator_function_declaration name: (identifier) @name body: (statement_block) @body) @definition.function
((method_definition name: (_) @name body: (statement_block) @body) @definition.method (#set! clauses))
(pair key: [(property_identifier) (string)] @name
  value: [(arrow_function body: (_) @body) (function_expression body: (_) @body) (generator_function body: (_) @body)])
  @definition.method
(pair key: (property_identifier) @name value: (class body: (_) @body)) @definition.class
(assignment_expression
  left: (_
    object: (_ object: [(identifier) (member_expression)] @scope property: (property_identifier) @_prototype)
    property: (property_identifier) @name)
  right: [(function_expression body: (_) @body) (generator_function body: (_) @body) (arrow_function body: (_) @body)]
  (#eq? @_prototype "prototype")) @definition.function
(assignment_expression
  left: (_ object: [(identifier) (this)] @scope property: (property_identifier) @name)
  right: [(function_expression body: (_) @body) (generator_function body: (_) @body) (arrow_function body: (_) @body)]
  (#not-match? @scope "^(exports|module)$")) @definition.function
(assignment_expression
  left: (_
    object: (_ object: (identifier) @_exports property: (property_identifier) @scope)
    property: (property_identifier) @name)
  right: [(function_expression body: (_) @body) (generator_function body: (_) @body) (arrow_function body: (_) @body)]
  (#eq? @_exports "exports")) @definition.function
(assignment_expression
  left: (_
    object: (_ object: (identifier) property: (property_identifier)) @scope
    property: (property_identifier) @name)
  right: [(function_expression body: (_) @body) (generator_function body: (_) @body) (arrow_function body: (_) @body)]
  (#not-match? @scope "^(module\\.exports|exports\\..*)$")) @definition.function
(assignment_expression
  left: (member_expression property: (property_identifier) @name)
  right: [(function_expression body: (_) @body) (generator_function body: (_) @body) (arrow_function body: (_) @body)])
  @definition.function
(assignment_expression
  left: (_ object: (identifier) @scope property: (property_identifier) @name)
  right: (class body: (_) @body) (#not-match? @scope "^(exports|module)$")) @definition.class
(assignment_expression
  left: (member_expression property: (property_identifier) @name) right: (class body: (_) @body)) @definition.class
(assignment_expression left: (identifier) @name
  right: [(function_expression body: (_) @body) (arrow_function body: (_) @body)]) @definition.function
(assignment_expression left: (identifier) @name right: (class body: (_) @body)) @definition.class
(function_expression name: (identifier) @name body: (_) @body) @definition.function
(generator_function name: (identifier) @name body: (_) @body) @definition.function
(class name: (_) @name body: (_) @body) @definition.class
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
