; inherits: shared/c_family
