(call_expression function: [(identifier) (super)] @call)
(call_expression function: (member_expression object: (_) @on property: (_) @call))
(call_expression function: (await_expression (identifier) @call))
(call_expression function: (await_expression (member_expression object: (_) @on property: (_) @call)))
(new_expression constructor: (identifier) @call)
(new_expression constructor: (member_expression object: (_) @on property: (_) @call))
(decorator [(identifier) (member_expression)] @decorate)
(decorator (call_expression function: (_) @decorate))
(assignment_expression left: (member_expression object: (this)) @bind right: (_) @value)
(assignment_expression left: (identifier) @bind right: (_) @value)
(variable_declarator name: (object_pattern (shorthand_property_identifier_pattern) @member) value: (_) @value)
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
(variable_declarator value: (call_expression function: (identifier) @_load) (#eq? @_load "require")) @import
(call_expression function: (import) arguments: (arguments (string))) @import
(assignment_expression left: (member_expression object: (identifier) @_exports property: (_) @bind) right: (_) @value
  (#eq? @_exports "exports"))
(assignment_expression left: (member_expression) @_module right: (_) @default (#eq? @_module "module.exports"))
(assignment_expression left: (member_expression) @_module
  right: (object (pair key: (property_identifier) @bind value: (_) @value)) (#eq? @_module "module.exports"))
(call_expression
  function: (member_expression object: (_) @each property: (_) @_loop)
  arguments: (arguments . (arrow_function parameter: (identifier) @bind))
  (#any-of? @_loop "map" "forEach" "filter" "find" "some" "every" "flatMap"))
