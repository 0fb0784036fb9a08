(block (identifier) @_kind . (string_lit) @scope . (string_lit) @name (block_start) @body
  (#any-of? @_kind "resource" "data")) @definition.resource
(block (identifier) @_kind . (string_lit) @name . (block_start) @body
  (#eq? @_kind "module")) @definition.module
(block (identifier) @_kind . (string_lit) @name . (block_start) @body
  (#any-of? @_kind "variable" "output" "provider")) @definition.variable
(comment) @comment
