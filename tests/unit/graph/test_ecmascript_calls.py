"""Calls in JavaScript and TypeScript: through objects that hold internals, and unusual spellings."""

from __future__ import annotations

from pathlib import Path

from benchmarks.graph.measure import every_node

from graphs import graph_of

POLICY = """\
const internals = {};
exports = module.exports = internals.Policy = class {
    static ttl() { return new internals.Pending(); }
    constructor() { this.pending = new internals.Pending(); }
    rules() { this.pending.send(); return internals.helper(); }
    ttl() { }
};
internals.Pending = class {
    send() {}
};
internals.helper = function () { return new internals.Pending(); };
internals.Reporter = function () {};
internals.Reporter.prototype.print = function () {};
internals.Reporter.prototype.start = function () { this.print(); };
"""
USE_POLICY = """\
const Lib = require('.');
function statically() { Lib.Policy.ttl().send(); }
function instance() { new Lib.policy().ttl(); }
function made() { Lib.make().rules(); }
const Base = require('./policy');
exports.Other = class extends Base { check() { this.rules(); } };
"""
LIB = """\
export function x() {}
export class Svc {
  #secret() {}
  run() { this.#secret(); }
  static make() { return new this(); }
}
"""
USE_LIB = """\
import * as lib from './lib.js';
function element() { lib["x"](); }
function sequence() { (0, lib.x)(); }
function brackets() { (lib.x)(); }
function instance() { new lib["Svc"]().run(); }
function own() { lib.Svc.make().run(); }
"""


def calls_of(files: dict[str, str], home: Path) -> dict[str, list[str]]:
    """Return what each definition calls, by names."""
    with graph_of(files, home) as graph:
        edges = [edge for node in every_node(graph) for edge in graph.edges_of(node)]
    found: dict[str, list[str]] = {}
    for edge in edges:
        if edge.relation == "call" and edge.confidence >= 0.8:
            found.setdefault(edge.source.qualified, []).append(
                f"{edge.target.qualified}:{edge.target.start_line}"
            )
    return {name: sorted(set(targets)) for name, targets in found.items()}


def test_classes_and_functions_of_an_object(tmp_path: Path) -> None:
    index = (
        "const Policy = require('./policy');\nexports.Policy = exports.policy = Policy;\n"
        "exports.make = function () { return new Policy(); };\n"
    )
    calls = calls_of({"policy.js": POLICY, "index.js": index, "use.js": USE_POLICY}, tmp_path)
    assert calls["internals.Policy.constructor"] == ["internals.Pending:8"]
    assert calls["internals.Policy.rules"] == ["internals.Pending.send:9", "internals.helper:11"]
    assert calls["internals.Reporter.start"] == ["internals.Reporter.print:13"]
    assert calls["statically"] == ["internals.Pending.send:9", "internals.Policy.ttl:3"]
    assert calls["instance"] == ["internals.Policy.ttl:6", "internals.Policy:2"]
    assert calls["Other.check"] == ["internals.Policy.rules:5"]
    assert calls["made"] == ["internals.Policy.rules:5", "make:3"]


def test_unusual_ways_to_write_a_call(tmp_path: Path) -> None:
    calls = calls_of({"lib.js": LIB, "use.js": USE_LIB}, tmp_path)
    assert calls["Svc.make"] == ["Svc:2"]
    for caller in ("element", "sequence", "brackets"):
        assert calls[caller] == ["x:1"], caller
    assert calls["instance"] == ["Svc.run:4", "Svc:2"]
    assert calls["own"] == ["Svc.make:5", "Svc.run:4"]


def test_a_private_member_is_found_by_its_name(tmp_path: Path) -> None:
    with graph_of({"lib.js": LIB}, tmp_path) as graph:
        for name in ("Svc.#secret", "#secret", "lib.js#Svc.#secret"):
            assert [node.id for node in graph.find(name)] == ["lib.js#Svc.#secret"], name


APP = """\
export class Context {
  text(s: string) { return s }
  json = (o: object) => o
}
export type Next = () => Promise<void>
export type Handler<E = any> = (c: Context, next: Next) => unknown
export type Middleware = (c: Context, next: Next) => void
export type H = Handler | Middleware
export interface Routing { (h: H): App; (path: string, ...handlers: H[]): App }
export interface Options { handler: Handler; hooks?: Handler[] }
export class App {
  get!: Routing
  use(path: string, fn: (c: Context) => void): this { return this }
  route(o: Options) {}
}
export const logger = (): Middleware => { return async function log(c, next) { c.text('') } }
"""
USE_APP = """\
import { App, Handler } from './app'
const app = new App()
function overload() { app.get((c) => c.text('')) }
function rest() { app.get('/', (c) => c.text(''), async (c, next) => { c.json({}) }) }
function inline() { app.use('/', (x) => { x.text('') }) }
function chained() { app.get('/', f).use('/', function (x) { x.json({}) }) }
function listed() { app.route({ hooks: [(c) => { c.json({}) }] }) }
function property() { app.route({ handler(c) { return c.text('') } }) }
const variable: Handler = (c) => c.text('')
function result(make: (n: number) => App) { make(1).use('/', f) }
function unknown(run) { run((c) => c.text('')) }
"""


def test_parameters_of_callbacks_have_the_types_that_the_called_function_declares(tmp_path: Path) -> None:
    calls = calls_of({"app.ts": APP, "use.ts": USE_APP}, tmp_path)
    text, json = "Context.text:2", "Context.json:3"
    assert calls["overload"] == ["App.get:12", text]
    assert calls["rest"] == ["App.get:12", json, text]
    assert calls["inline"] == ["App.use:13", text]
    assert calls["chained"] == ["App.get:12", "App.use:13", json]
    assert calls["listed"] == ["App.route:14", json]
    assert calls["property.handler"] == [text]
    assert calls["variable"] == [text]
    assert calls["result"] == ["App.use:13"]
    assert calls["logger.log"] == [text]
    assert "unknown" not in calls
