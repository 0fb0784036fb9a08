; Google Test and its kin: a macro that reads as a function without a type.
(function_definition
  declarator: (function_declarator
    declarator: (identifier) @_macro
    parameters: (parameter_list . (parameter_declaration type: (type_identifier) @scope)
      . (parameter_declaration type: (type_identifier) @name)))
  body: (_) @body
  (#any-of? @_macro "TEST" "TEST_F" "TEST_P" "TYPED_TEST" "BENCHMARK_F")) @definition.test
(function_definition
  declarator: (function_declarator declarator: [
    (identifier) @name (field_identifier) @name (destructor_name) @name (operator_name) @name
    (qualified_identifier scope: (_) @scope name: [(identifier) (destructor_name) (operator_name)] @name)])
  body: (_)? @body) @definition.function
(function_definition
  declarator: (_ (function_declarator declarator: [
    (identifier) @name (field_identifier) @name (operator_name) @name
    (qualified_identifier scope: (_) @scope name: [(identifier) (operator_name)] @name)]))
  body: (_)? @body) @definition.function
(function_definition
  declarator: (function_declarator
    declarator: (qualified_identifier
      name: (qualified_identifier scope: (_) @scope name: [(identifier) (destructor_name) (operator_name)] @name)))
  body: (_)? @body) @definition.function
(class_specifier name: (_) @name body: (_) @body) @definition.class
(struct_specifier name: (_) @name body: (_) @body) @definition.struct
(union_specifier name: (_) @name body: (_) @body) @definition.union
(enum_specifier name: (_) @name body: (_) @body) @definition.enum
(concept_definition name: (identifier) @name) @definition.type
(alias_declaration name: (type_identifier) @name) @definition.type
(type_definition type: (struct_specifier body: (_) @body) declarator: (type_identifier) @name) @definition.struct
(type_definition declarator: (type_identifier) @name) @definition.type
(namespace_definition name: (_) @name body: (_) @body) @definition.module
(field_declaration declarator: (function_declarator declarator: (field_identifier) @name)) @definition.method
(field_declaration declarator: (_ (function_declarator declarator: (field_identifier) @name))) @definition.method
(field_declaration declarator: (field_identifier) @name) @definition.field
(field_declaration declarator: (_ declarator: (field_identifier) @name)) @definition.field
(translation_unit (declaration declarator: (function_declarator declarator: (identifier) @name)) @definition.function)
(translation_unit (declaration declarator: (init_declarator declarator: (identifier) @name)) @definition.constant)
(namespace_definition body: (_ (declaration declarator: (function_declarator declarator: (identifier) @name)) @definition.function))
(namespace_definition body: (_ (declaration declarator: (init_declarator declarator: (identifier) @name)) @definition.constant))
(preproc_def name: (identifier) @name) @definition.macro
(preproc_function_def name: (identifier) @name) @definition.macro
(template_declaration) @wrapper
(linkage_specification body: (function_definition)) @wrapper
(field_declaration type: (class_specifier)) @wrapper
(comment) @comment
(preproc_include) @import
(using_declaration) @import
