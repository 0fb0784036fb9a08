(call target: (identifier) @_kind (arguments . (alias) @name) (do_block) @body
  (#any-of? @_kind "defmodule")) @definition.module
(call target: (identifier) @_kind (arguments . (alias) @name) (do_block) @body
  (#eq? @_kind "defprotocol")) @definition.protocol
(call target: (identifier) @_kind (arguments . (alias) @name) (do_block) @body
  (#eq? @_kind "defimpl")) @definition.impl
(call target: (identifier) @_kind (arguments . [
    (identifier) @name
    (call target: (identifier) @name)
    (binary_operator left: (call target: (identifier) @name) operator: "when")
    (binary_operator operator: "\\\\" left: (call target: (identifier) @name))])
  (do_block)? @body
  (#any-of? @_kind "def" "defp" "defdelegate" "defguard" "defguardp" "defn" "defnp") (#set! clauses)) @definition.function
(call target: (identifier) @_kind (arguments . [
    (identifier) @name
    (call target: (identifier) @name)
    (binary_operator left: (call target: (identifier) @name) operator: "when")])
  (do_block)? @body
  (#any-of? @_kind "defmacro" "defmacrop") (#set! clauses)) @definition.macro
(call target: (identifier) @_kind (arguments . (string) @name) (do_block) @body
  (#any-of? @_kind "test" "describe" "property")) @definition.test
(call target: (identifier) @name (#any-of? @name "defstruct" "defexception")) @definition.struct
(unary_operator operand: (call target: (identifier) @_type
  (arguments (binary_operator left: [(call target: (identifier) @name) (identifier) @name])))
  (#any-of? @_type "type" "typep" "opaque")) @definition.type
(unary_operator operand: (call target: (identifier) @_note
  (arguments [(string) (sigil)])) (#any-of? @_note "doc" "typedoc" "shortdoc")) @comment
(unary_operator operand: (call target: (identifier) @_moduledoc
  (arguments [(string) (sigil)] @doc)) (#eq? @_moduledoc "moduledoc"))
(unary_operator operand: (call target: (identifier) @_note)
  (#any-of? @_note "spec" "impl" "doc" "deprecated" "tag" "callback")) @attribute
(comment) @comment
(call target: (identifier) @_load (arguments)
  (#any-of? @_load "alias" "import" "require" "use")) @import
