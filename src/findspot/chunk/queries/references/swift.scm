(call_expression . (simple_identifier) @call (call_suffix))
(call_expression . (navigation_expression target: (_) @on suffix: (navigation_suffix suffix: (simple_identifier) @call)))
(inheritance_specifier inherits_from: (_) @inherit)
(attribute (user_type) @decorate)
(user_type (type_identifier) @use)
(import_declaration) @import
