(call_expression function: (identifier) @call)
(call_expression function: (field_expression argument: (_) @on field: (field_identifier) @call))
(type_identifier) @use
(type_definition type: [(type_identifier) (struct_specifier !body)] @alias)
(parameter_declaration type: (_) @declared declarator: (identifier) @bind)
(parameter_declaration type: (_) @declared declarator: (pointer_declarator declarator: (identifier) @bind))
(field_declaration type: (_) @declared declarator: (field_identifier) @bind)
(field_declaration type: (_) @declared declarator: (pointer_declarator declarator: (field_identifier) @bind))
(declaration type: (_) @declared declarator: (identifier) @bind)
(declaration type: (_) @declared declarator: (pointer_declarator declarator: (identifier) @bind))
(declaration type: (_) @declared declarator: (init_declarator declarator: (identifier) @bind))
(declaration type: (_) @declared
  declarator: (init_declarator declarator: (pointer_declarator declarator: (identifier) @bind)))
(preproc_include) @import
