(object_type_definition (name) @name (fields_definition)? @body) @definition.type
(interface_type_definition (name) @name (fields_definition)? @body) @definition.interface
(enum_type_definition (name) @name (enum_values_definition)? @body) @definition.enum
(input_object_type_definition (name) @name) @definition.type
(scalar_type_definition (name) @name) @definition.type
(union_type_definition (name) @name) @definition.union
(operation_definition (name) @name (selection_set) @body) @definition.function
(fragment_definition (fragment_name (name) @name) (selection_set) @body) @definition.function
(comment) @comment
