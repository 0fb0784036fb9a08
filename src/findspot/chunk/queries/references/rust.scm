(call_expression function: (identifier) @call)
(call_expression function: (field_expression value: (_) @on field: (field_identifier) @call))
(call_expression function: (scoped_identifier path: (_) @on name: (identifier) @call))
(call_expression function: (generic_function function: (identifier) @call))
(call_expression function: (generic_function function: (scoped_identifier path: (_) @on name: (identifier) @call)))
(call_expression function: (generic_function function: (field_expression value: (_) @on field: (field_identifier) @call)))
(macro_invocation macro: (identifier) @call)
(macro_invocation (token_tree) @arguments)
(impl_item trait: (_) @inherit)
(trait_item bounds: (trait_bounds (_) @inherit))
(attribute . [(identifier) (scoped_identifier)] @decorate)
(scoped_type_identifier path: (_) @on name: (type_identifier) @use)
(type_identifier) @use
(use_declaration) @import
(mod_item !body) @import
