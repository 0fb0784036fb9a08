(call_expression function: (identifier) @call)
(call_expression function: (selector_expression operand: (_) @on field: (field_identifier) @call))
(call_expression function: (parenthesized_expression (identifier) @call))
(call_expression function: (parenthesized_expression (unary_expression operator: "*" operand: (identifier) @call)))
(call_expression function: (parenthesized_expression
  (unary_expression operator: "*" operand: (selector_expression operand: (_) @on field: (field_identifier) @call))))
(call_expression function: (index_expression operand: (identifier) @call))
(call_expression function: (index_expression
  operand: (selector_expression operand: (_) @on field: (field_identifier) @call)))
(call_expression function: (type_instantiation_expression type: (type_identifier) @call))
(call_expression function: (type_instantiation_expression
  type: (qualified_type package: (_) @on name: (type_identifier) @call)))
(type_conversion_expression type: (generic_type type: (type_identifier) @call))
(type_conversion_expression type: (generic_type type: (qualified_type package: (_) @on name: (type_identifier) @call)))
(field_declaration !name type: [(type_identifier) (generic_type type: (type_identifier))] @inherit)
(field_declaration !name type: [
  (qualified_type package: (_) @on name: (type_identifier) @inherit)
  (generic_type type: (qualified_type package: (_) @on name: (type_identifier) @inherit))])
(interface_type (type_elem . [
  (type_identifier) @inherit
  (generic_type type: (type_identifier) @inherit)
  (qualified_type package: (_) @on name: (type_identifier) @inherit)] .))
(qualified_type package: (_) @on name: (type_identifier) @use)
((type_identifier) @use (#not-match? @use
  "^(any|bool|byte|comparable|error|rune|string|float32|float64|u?int(8|16|32|64)?|uintptr)$"))
(type_spec type: [(type_identifier) (qualified_type) (generic_type) (pointer_type) (slice_type) (array_type) (map_type)
  (channel_type) (function_type)] @alias)
(type_alias type: (_) @alias)
(type_parameter_declaration name: (identifier) @generic type: (_) @declared)
(parameter_declaration name: (identifier) @bind type: (_) @declared)
(variadic_parameter_declaration name: (identifier) @bind) @declared
(struct_type (field_declaration_list (field_declaration name: (field_identifier) @bind type: (_) @declared))) @struct
(field_declaration !name type: (type_identifier) @bind @declared)
(field_declaration !name type: (generic_type type: (type_identifier) @bind @declared))
(field_declaration !name type: (qualified_type name: (type_identifier) @bind) @declared)
(var_spec name: (identifier) @bind type: (_) @declared)
(var_spec !type value: (_) @values) @targets
(short_var_declaration left: (_) @targets right: (_) @values)
(assignment_statement left: (_) @targets operator: "=" right: (_) @values)
(const_spec name: (identifier) @bind)
(range_clause left: (expression_list . (identifier) @bind . (_)))
(range_clause left: (expression_list (identifier) @bind .) right: (_) @each)
(receive_statement left: (expression_list . (identifier) @bind) right: (_) @value)
(type_switch_statement alias: (expression_list (identifier) @bind) value: (_) @value)
(type_switch_statement alias: (expression_list (identifier) @bind) (type_case type: (_) @declared))
(function_declaration) @results
(method_declaration) @results
(method_elem) @results
(import_spec) @import
(argument_list [(identifier) (selector_expression)] @pass)
(literal_element [(identifier) (selector_expression)] @pass)
(expression_list [(identifier) (selector_expression)] @pass)
(binary_expression [(identifier) (selector_expression)] @pass)
(unary_expression operand: [(identifier) (selector_expression)] @pass)
(send_statement value: [(identifier) (selector_expression)] @pass)
