; inherits: shared/c_family
(function_definition type: (_) @returns)
