; inherits: shared/c_family
(call_expression function: (qualified_identifier scope: (_) @on name: [(identifier) (template_function)] @call))
(call_expression function: (qualified_identifier name: (qualified_identifier scope: (_) @on name: (identifier) @call)))
(call_expression function: (template_function name: (identifier) @call))
(new_expression type: (type_identifier) @call)
(base_class_clause [(type_identifier) (qualified_identifier) (template_type)] @inherit)
(attribute name: (_) @decorate)
(using_declaration) @import
