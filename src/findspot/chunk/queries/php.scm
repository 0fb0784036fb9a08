(class_declaration name: (name) @name body: (_) @body) @definition.class
(interface_declaration name: (name) @name body: (_) @body) @definition.interface
(trait_declaration name: (name) @name body: (_) @body) @definition.trait
(enum_declaration name: (name) @name body: (_) @body) @definition.enum
(method_declaration name: (name) @name body: (_)? @body) @definition.method
(function_definition name: (name) @name body: (_) @body) @definition.function
(const_declaration (const_element . (name) @name)) @definition.constant
(property_declaration (property_element name: (variable_name (name) @name))) @definition.field
(function_call_expression function: (name) @_define arguments: (arguments . (argument (string) @name))
  (#eq? @_define "define")) @definition.constant
(comment) @comment
(namespace_use_declaration) @import
(namespace_definition name: (namespace_name) @package)
