(function_definition name: (word) @name body: (_) @body) @definition.function
(program (declaration_command (variable_assignment name: (variable_name) @name)) @definition.constant)
(program (variable_assignment name: (variable_name) @name) @definition.constant)
(comment) @comment
(command name: (command_name (word) @_load) (#any-of? @_load "source" ".")) @import
