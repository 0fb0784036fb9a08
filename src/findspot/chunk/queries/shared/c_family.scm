(call_expression function: (identifier) @call)
(call_expression function: (field_expression argument: (_) @on field: (field_identifier) @call))
(type_identifier) @use
(preproc_include) @import
