(struct_item name: (type_identifier) @name body: (_)? @body) @definition.struct
(enum_item name: (type_identifier) @name body: (_) @body) @definition.enum
(union_item name: (type_identifier) @name body: (_) @body) @definition.union
(trait_item name: (type_identifier) @name body: (_) @body) @definition.trait
(impl_item type: [
  (type_identifier) @name
  (generic_type type: (_) @name)
  (scoped_type_identifier) @name
  (reference_type) @name
  (tuple_type) @name
  (primitive_type) @name] body: (_) @body) @definition.impl
(mod_item name: (identifier) @name body: (_) @body) @definition.module
(function_item name: (identifier) @name body: (_) @body) @definition.function
(function_signature_item name: (identifier) @name) @definition.function
(type_item name: (type_identifier) @name) @definition.type
(associated_type name: (type_identifier) @name) @definition.type
(const_item name: (identifier) @name) @definition.constant
(static_item name: (identifier) @name) @definition.constant
(macro_definition name: (identifier) @name) @definition.macro
(line_comment) @comment
(block_comment) @comment
(attribute_item) @attribute
(use_declaration) @import
