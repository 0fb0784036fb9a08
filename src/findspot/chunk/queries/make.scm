(rule (targets) @name) @definition.target
(variable_assignment name: (word) @name) @definition.constant
(comment) @comment
