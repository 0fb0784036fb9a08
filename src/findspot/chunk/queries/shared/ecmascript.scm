; `(_ object: … property: …)` is a member expression. With its type, the query takes a fifth longer to compile.
(call_expression function: [(identifier) (super)] @call (#not-eq? @call "require"))
(call_expression function: (_ object: (_) @on property: (_) @call))
(call_expression function: (await_expression (identifier) @call))
(call_expression function: (await_expression (_ object: (_) @on property: (_) @call)))
(call_expression function: (call_expression function: (identifier) @_load) @call (#eq? @_load "require"))
(call_expression function: (subscript_expression object: (_) @on index: (string (string_fragment) @call)))
(call_expression function: (parenthesized_expression
  [(identifier) @call (sequence_expression (identifier) @call .)]))
(call_expression function: (parenthesized_expression
  [(_ object: (_) @on property: (_) @call)
   (sequence_expression (_ object: (_) @on property: (_) @call) .)]))
(new_expression constructor: [(identifier) (this)] @call)
(new_expression constructor: (subscript_expression object: (_) @on index: (string (string_fragment) @call)))
(new_expression constructor: (parenthesized_expression (_) @call))
(new_expression constructor: (_ object: (_) @on property: (_) @call))
(decorator [(identifier) (member_expression)] @decorate)
(decorator (call_expression function: (_) @decorate))
(assignment_expression left: (member_expression object: (this)) @bind right: (_) @value)
(assignment_expression left: (identifier) @bind right: (_) @value)
(pair key: (property_identifier) @property value: [(identifier) (member_expression) (call_expression) (new_expression)] @value)
(object (shorthand_property_identifier) @property)
(return_statement (object (shorthand_property_identifier) @made))
(return_statement (object (pair key: (property_identifier) @made
  value: [(identifier) (member_expression) (call_expression) (new_expression)] @value)))
(arrow_function body: (parenthesized_expression (object (shorthand_property_identifier) @made)))
(arrow_function body: (parenthesized_expression (object (pair key: (property_identifier) @made
  value: [(identifier) (member_expression) (call_expression) (new_expression)] @value))))
(arrow_function body: (parenthesized_expression (object) @return))
[(arrow_function) (function_expression)] @function
(object (method_definition) @function)
(method_definition "get" name: (_) @getter)
(method_definition "static" name: (_) @static)
(for_in_statement left: (array_pattern . (_) . (identifier) @bind) right: (_) @each)
(variable_declarator name: (object_pattern (shorthand_property_identifier_pattern) @member) value: (_) @value)
(variable_declarator name: (object_pattern (object_assignment_pattern left: (_) @member)) value: (_) @value)
(variable_declarator name: (object_pattern (pair_pattern key: (_) @key value: (identifier) @member)) value: (_) @value)
(variable_declarator
  name: (object_pattern (pair_pattern key: (_) @key
    value: (object_pattern (shorthand_property_identifier_pattern) @member))) value: (_) @value)
(variable_declarator name: (array_pattern (identifier) @bind))
(for_in_statement left: (identifier) @bind right: (_) @each)
(catch_clause parameter: (identifier) @bind)
(arrow_function parameter: (identifier) @bind)
(return_statement (_) @return)
(arrow_function body: [(call_expression) (new_expression) (identifier) (member_expression) (await_expression)] @return)
(import_statement) @import
(export_statement source: (_)) @import
(export_statement value: (_) @default)
(export_statement "default" declaration: (_ name: (_) @default))
(export_statement !source (export_clause (export_specifier name: (_) @value alias: (_) @bind)))
(variable_declarator name: (identifier) @value value: (function_expression name: (identifier) @bind))
(variable_declarator name: (identifier) @default
  value: [
    (assignment_expression left: (_) @_module)
    (parenthesized_expression (assignment_expression left: (_) @_module))
  ] (#any-of? @_module "module.exports" "exports"))
(variable_declarator value: (_) @_loaded (#match? @_loaded "^(await\\s+)?(require|import)\\s*\\(")) @import
(assignment_expression right: (call_expression function: [(identifier) (import)] @_load)
  (#any-of? @_load "require" "import")) @import
(pair value: (call_expression function: [(identifier) (import)] @_load) (#any-of? @_load "require" "import")) @import
(call_expression function: [(identifier) (import)] @_load arguments: (arguments . (string))
  (#any-of? @_load "require" "import")) @import
(assignment_expression left: (_ object: (identifier) @_exports property: (_) @bind) right: (_) @value
  (#eq? @_exports "exports"))
(assignment_expression left: (_ object: (member_expression) @_module property: (_) @bind) right: (_) @value
  (#eq? @_module "module.exports"))
(assignment_expression left: (_ object: (identifier) @_exports property: (_) @bind)
  right: (assignment_expression left: (_) @value) (#eq? @_exports "exports"))
(assignment_expression left: (member_expression) @_module right: (_) @default (#eq? @_module "module.exports"))
(assignment_expression left: (member_expression) @_module right: (_ name: (_) @default) (#eq? @_module "module.exports"))
(assignment_expression left: (member_expression) @_module right: (assignment_expression left: (identifier) @default)
  (#eq? @_module "module.exports"))
(assignment_expression left: (member_expression) @_module
  right: (object (pair key: (property_identifier) @bind value: (_) @value)) (#eq? @_module "module.exports"))
(call_expression
  function: (_ object: (_) @each property: (_) @_loop)
  arguments: (arguments . (arrow_function parameter: (identifier) @bind))
  (#any-of? @_loop "map" "forEach" "filter" "find" "some" "every" "flatMap"))
(call_expression function: (_ object: (identifier) @call property: (_) @_called)
  (#any-of? @_called "call" "apply"))
(call_expression
  function: (_ object: (_ object: (_) @on property: (_) @call) property: (_) @_called)
  (#any-of? @_called "call" "apply"))
(call_expression function: (_ object: [(identifier) (member_expression)] @pass property: (_) @_bound) (#eq? @_bound "bind"))
(arguments [(identifier) (member_expression)] @pass)
(arguments (object [(shorthand_property_identifier) @pass (pair value: [(identifier) (member_expression)] @pass)]))
(array [(identifier) @pass (member_expression) @pass (object [(shorthand_property_identifier) @pass (pair value: [(identifier) (member_expression)] @pass)])])
(pair value: [(object [(shorthand_property_identifier) @pass (pair value: [(identifier) (member_expression)] @pass)])])
(assignment_expression left: (_) @_left right: [(identifier) @pass (member_expression) @pass (object [(shorthand_property_identifier) @pass (pair value: [(identifier) (member_expression)] @pass)])]
  (#not-match? @_left "^(module\\.)?exports\\b"))
(variable_declarator value: [(identifier) @pass (member_expression) @pass (object [(shorthand_property_identifier) @pass (pair value: [(identifier) (member_expression)] @pass)])])
(return_statement [(identifier) @pass (member_expression) @pass (object [(shorthand_property_identifier) @pass (pair value: [(identifier) (member_expression)] @pass)])])
(arrow_function body: [(identifier) @pass (member_expression) @pass (parenthesized_expression (object [(shorthand_property_identifier) @pass (pair value: [(identifier) (member_expression)] @pass)]))])
(ternary_expression consequence: [(identifier) (member_expression)] @pass)
(ternary_expression alternative: [(identifier) (member_expression)] @pass)
(binary_expression operator: ["||" "??" "&&"] right: [(identifier) (member_expression)] @pass)
(assignment_pattern right: [(identifier) (member_expression)] @pass)
