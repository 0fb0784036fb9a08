(function_definition declarator: (function_declarator declarator: (identifier) @name) body: (_) @body) @definition.function
(function_definition
  declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))
  body: (_) @body) @definition.function
(function_definition
  declarator: (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name)))
  body: (_) @body) @definition.function
(function_definition
  declarator: (function_declarator
    declarator: (parenthesized_declarator
      (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))))
  body: (_) @body) @definition.function
(type_definition
  type: (struct_specifier body: (_) @body) declarator: (type_identifier) @name) @definition.struct
(type_definition
  type: (enum_specifier body: (_) @body) declarator: (type_identifier) @name) @definition.enum
(type_definition
  type: (union_specifier body: (_) @body) declarator: (type_identifier) @name) @definition.union
(struct_specifier name: (type_identifier) @name body: (_) @body) @definition.struct
(enum_specifier name: (type_identifier) @name body: (_) @body) @definition.enum
(union_specifier name: (type_identifier) @name body: (_) @body) @definition.union
(type_definition declarator: (type_identifier) @name) @definition.type
(type_definition
  declarator: (function_declarator
    declarator: (parenthesized_declarator (pointer_declarator declarator: (type_identifier) @name)))) @definition.type
(translation_unit (declaration declarator: (function_declarator declarator: (identifier) @name)) @definition.function)
(translation_unit (declaration
  declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))) @definition.function)
(translation_unit (declaration declarator: (init_declarator declarator: (identifier) @name)) @definition.constant)
(translation_unit (declaration
  declarator: (init_declarator declarator: (array_declarator declarator: (identifier) @name))) @definition.constant)
(translation_unit (declaration
  declarator: (init_declarator declarator: (pointer_declarator declarator: (identifier) @name))) @definition.constant)
(preproc_def name: (identifier) @name) @definition.macro
(preproc_function_def name: (identifier) @name) @definition.macro
(comment) @comment
(preproc_include) @import
