(module name: (_) @name body: (_)? @body) @definition.module
(class name: (_) @name body: (_)? @body) @definition.class
(method name: (_) @name body: (_)? @body) @definition.function
(singleton_method name: (_) @name body: (_)? @body) @definition.method
(assignment left: (constant) @name right: (call receiver: (constant) @_maker method: (identifier) @_new block: (_)? @body)
  (#any-of? @_maker "Struct" "Class" "Data" "Module")) @definition.class
(assignment left: [(constant) @name (scope_resolution name: (constant) @name)]) @definition.constant
(assignment left: (left_assignment_list (constant) @name)) @definition.constant
(operator_assignment left: (constant) @name) @definition.constant
(call method: (identifier) @_define arguments: (argument_list . (simple_symbol) @name)
  block: (_) @body (#eq? @_define "define_method")) @definition.method
(call method: (identifier) @_runner arguments: (argument_list . (_) @name)
  block: (do_block) @body (#any-of? @_runner "describe" "context" "it" "specify" "feature" "scenario")) @definition.test
(call method: (identifier) @_mark arguments: (argument_list (method))
  (#any-of? @_mark "private" "protected" "public" "module_function" "memoize")) @wrapper
(comment) @comment
(call !receiver method: (identifier) @_load arguments: (argument_list (string))
  (#any-of? @_load "require" "require_relative" "load")) @import
