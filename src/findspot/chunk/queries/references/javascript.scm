; inherits: shared/ecmascript shared/jsx
(class_heritage [(identifier) (member_expression)] @inherit)
(class_heritage (call_expression arguments: (arguments (identifier) @inherit (#match? @inherit "^[A-Z]"))))
(variable_declarator name: (identifier) @bind value: (_) @value)
(formal_parameters (identifier) @bind)
(formal_parameters (object_pattern (shorthand_property_identifier_pattern) @bind))
(formal_parameters (assignment_pattern left: (identifier) @bind))
(formal_parameters (rest_pattern (identifier) @bind))
(field_definition property: (_) @bind value: (_) @value)
(call_expression
  function: (_ object: (_) @each property: (_) @_loop)
  arguments: (arguments . (arrow_function parameters: (formal_parameters . (identifier) @bind)))
  (#any-of? @_loop "map" "forEach" "filter" "find" "some" "every" "flatMap"))
(call_expression
  function: (_ object: (_) @value property: (_) @_then)
  arguments: (arguments . (arrow_function parameters: (formal_parameters . (identifier) @bind)))
  (#eq? @_then "then"))
