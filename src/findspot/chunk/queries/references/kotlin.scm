(call_expression . (identifier) @call)
(call_expression . (navigation_expression (_) @on (identifier) @call .))
(constructor_invocation (user_type) @call)
(infix_expression (_) @on . (identifier) @call . (_))
(delegation_specifier (constructor_invocation (user_type) @inherit))
(delegation_specifier (user_type) @inherit)
(delegation_specifier (explicit_delegation (user_type) @inherit))
(object_literal (delegation_specifiers . (delegation_specifier
  [(user_type) @base (constructor_invocation (user_type) @base) (explicit_delegation (user_type) @base)]))) @anonymous
(enum_entry (identifier) @constant (class_body) @anonymous)
(constructor_delegation_call ["this" "super"] @call)
(callable_reference (identifier) @pass)
(navigation_expression (_) "::" (identifier)) @pass
(annotation (user_type) @decorate)
(annotation (constructor_invocation (user_type) @decorate))
(user_type (identifier) @use .)
(import) @import
