; inherits: references/typescript shared/jsx
