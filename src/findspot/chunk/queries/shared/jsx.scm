(jsx_self_closing_element name: (identifier) @call (#match? @call "^[A-Z]"))
(jsx_opening_element name: (identifier) @call (#match? @call "^[A-Z]"))
(jsx_self_closing_element name: (member_expression object: (_) @on property: (_) @call))
(jsx_opening_element name: (member_expression object: (_) @on property: (_) @call))
