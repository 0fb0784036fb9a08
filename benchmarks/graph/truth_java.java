import com.sun.source.tree.*;
import com.sun.source.util.*;
import java.io.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.*;
import java.util.regex.*;
import java.util.stream.*;
import javax.lang.model.element.*;
import javax.lang.model.type.*;
import javax.lang.model.util.Types;
import javax.tools.*;

/**
 * Calls, supertypes and imports of a Java project as its compiler resolves them: javac, asked through its
 * tree API. Errors are tolerated, so libraries need not be there; what depends on them is unresolved.
 *
 * java benchmarks/graph/truth_java.java FOLDER [JAR or folder of JARs ...] > truth.jsonl
 *
 * One JSON object per line: {kind, path, line, name, targets: [{path, line, name}], resolved}. Kinds: "call"
 * (methods, and `new`, which is a call of the type it names), "value" (method references), "inherit" (`note` is
 * "anonymous" for the body of `new T() {…}` or of an enum constant), "lambda" (the functional interface that a
 * lambda or method reference implements) and "import" (targets are files). Targets of a call are the method
 * that javac chose and its overloads that take the same number of arguments: those count as one.
 */
class TruthJava {
    static Trees trees;
    static Types types;
    static Path root;
    static final Map<CompilationUnitTree, String> texts = new IdentityHashMap<>();
    static final PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);

    public static void main(String[] arguments) throws IOException {
        root = Path.of(arguments[0]).toRealPath();
        List<File> jars = new ArrayList<>();
        for (String given : Arrays.asList(arguments).subList(1, arguments.length)) {
            File file = new File(given);
            File[] inside = file.isDirectory() ? file.listFiles((d, n) -> n.endsWith(".jar")) : new File[] {file};
            jars.addAll(Arrays.asList(inside));
        }
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        StandardJavaFileManager files = compiler.getStandardFileManager(null, null, StandardCharsets.UTF_8);
        files.setLocation(StandardLocation.CLASS_PATH, jars);
        List<File> sources;
        try (Stream<Path> walk = Files.walk(root)) {
            sources = walk.filter(p -> p.toString().endsWith(".java") && Files.isRegularFile(p))
                .filter(p -> !p.endsWith("module-info.java") && !p.endsWith("package-info.java"))
                .sorted().map(Path::toFile).collect(Collectors.toList());
        }
        List<String> options = List.of("-proc:none", "-Xlint:none", "-XDshould-stop.ifError=FLOW", "-XDshould-stop.ifNoError=FLOW");
        JavacTask task = (JavacTask) compiler.getTask(
            new StringWriter(), files, diagnostic -> { }, options, null, files.getJavaFileObjectsFromFiles(sources));
        List<CompilationUnitTree> units = new ArrayList<>();
        task.parse().forEach(units::add);
        try {
            task.analyze();
        } catch (RuntimeException | StackOverflowError error) {
            System.err.println("the compiler gave up: " + error);
        }
        trees = Trees.instance(task);
        types = task.getTypes();
        for (CompilationUnitTree unit : units) {
            new Reader(unit).scan(unit, null);
        }
        out.flush();
    }

    static String text(CompilationUnitTree unit) {
        return texts.computeIfAbsent(unit, u -> {
            try {
                return u.getSourceFile().getCharContent(true).toString();
            } catch (IOException error) {
                throw new UncheckedIOException(error);
            }
        });
    }

    static String path(CompilationUnitTree unit) {
        return root.relativize(Path.of(unit.getSourceFile().toUri())).toString();
    }

    /** Where an element of the project is defined, as JSON; null where it is not of the project. */
    static String place(Element element) {
        TreePath found = element == null ? null : trees.getPath(element);
        if (found == null && element != null && element.getKind() == ElementKind.CONSTRUCTOR) {
            return place(element.getEnclosingElement());  // the default constructor
        }
        if (found == null) {
            return null;
        }
        CompilationUnitTree unit = found.getCompilationUnit();
        Tree tree = found.getLeaf();
        SourcePositions positions = trees.getSourcePositions();
        long start = positions.getStartPosition(unit, tree);
        String name = element.getSimpleName().toString();
        ModifiersTree modifiers = null;
        if (tree instanceof MethodTree) {
            MethodTree method = (MethodTree) tree;
            modifiers = method.getModifiers();
            if (element.getKind() == ElementKind.CONSTRUCTOR) {
                name = element.getEnclosingElement().getSimpleName().toString();
                if (positions.getEndPosition(unit, method.getBody()) < 0) {
                    return place(element.getEnclosingElement());
                }
            } else if (method.getReturnType() != null) {
                start = Math.max(start, positions.getEndPosition(unit, method.getReturnType()));
            }
        } else if (tree instanceof ClassTree) {
            modifiers = ((ClassTree) tree).getModifiers();
        }
        if (modifiers != null) {
            start = Math.max(start, positions.getEndPosition(unit, modifiers));
        }
        Matcher matcher = Pattern.compile("\\b" + Pattern.quote(name) + "(?![\\w$])").matcher(text(unit));
        long at = !name.isEmpty() && matcher.find((int) Math.max(start, 0)) ? matcher.start() : start;
        return json("path", path(unit), "line", unit.getLineMap().getLineNumber(at), "name", name);
    }

    static String json(Object... pairs) {
        StringBuilder made = new StringBuilder("{");
        for (int i = 0; i < pairs.length; i += 2) {
            made.append(i == 0 ? "" : ", ").append('"').append(pairs[i]).append("\": ");
            Object value = pairs[i + 1];
            boolean raw = value instanceof Number || value instanceof Boolean || value instanceof List;
            made.append(raw ? value : '"' + value.toString().replace("\\", "\\\\").replace("\"", "\\\"") + '"');
        }
        return made.append('}').toString();
    }

    static class Reader extends TreePathScanner<Void, Void> {
        final CompilationUnitTree unit;
        final SourcePositions positions = trees.getSourcePositions();

        Reader(CompilationUnitTree unit) {
            this.unit = unit;
        }

        long line(long position) {
            return unit.getLineMap().getLineNumber(position);
        }

        /** Where the name at the end of `a.b.c` or the only name stands. */
        long nameAt(Tree tree, String name) {
            boolean member = tree instanceof MemberSelectTree;
            return member ? positions.getEndPosition(unit, tree) - name.length() : positions.getStartPosition(unit, tree);
        }

        void row(String kind, long at, String name, Element target, String note) {
            boolean erroneous = target == null || target.asType() == null || target.asType().getKind() == TypeKind.ERROR;
            String place = erroneous ? null : place(target);
            Set<String> targets = new LinkedHashSet<>(place == null ? List.of() : List.of(place));
            if (place != null && target instanceof ExecutableElement) {
                overloads((ExecutableElement) target).forEach(targets::add);
            }
            String row = json("kind", kind, "path", path(unit), "line", line(at), "name", name, "targets",
                List.copyOf(targets), "resolved", !erroneous);
            out.println(note.isEmpty() ? row : row.substring(0, row.length() - 1) + ", \"note\": \"" + note + "\"}");
        }

        /** Those of the same type and name that can take as many arguments. */
        Stream<String> overloads(ExecutableElement target) {
            return target.getEnclosingElement().getEnclosedElements().stream()
                .filter(e -> e.getKind() == target.getKind() && e.getSimpleName().equals(target.getSimpleName()))
                .map(ExecutableElement.class::cast)
                .filter(e -> e.isVarArgs() || target.isVarArgs() || e.getParameters().size() == target.getParameters().size())
                .map(TruthJava::place).filter(Objects::nonNull);
        }

        @Override
        public Void visitMethodInvocation(MethodInvocationTree tree, Void nothing) {
            Tree select = tree.getMethodSelect();
            Element target = trees.getElement(new TreePath(getCurrentPath(), select));
            String name = select instanceof MemberSelectTree
                ? ((MemberSelectTree) select).getIdentifier().toString() : select.toString();
            boolean implicit = positions.getEndPosition(unit, tree) < 0;
            if (!implicit && (target == null || target instanceof ExecutableElement)) {
                row("call", nameAt(select, name), name, target, "");
            }
            return super.visitMethodInvocation(tree, nothing);
        }

        @Override
        public Void visitNewClass(NewClassTree tree, Void nothing) {
            TreePath named = new TreePath(getCurrentPath(), tree.getIdentifier());
            Element type = trees.getElement(named);
            Element target = tree.getClassBody() == null ? trees.getElement(getCurrentPath()) : null;
            boolean exact = target != null && target.asType().getKind() != TypeKind.ERROR;
            String name = type == null ? tree.getIdentifier().toString() : type.getSimpleName().toString();
            long at = positions.getStartPosition(unit, tree.getIdentifier());
            if (text(unit).startsWith("new", (int) positions.getStartPosition(unit, tree))) {  // no enum constant
                row("call", at, name, exact ? target : type, "");
            }
            if (tree.getClassBody() != null) {
                row("inherit", at, name, type, "anonymous");
            }
            return super.visitNewClass(tree, nothing);
        }

        @Override
        public Void visitMemberReference(MemberReferenceTree tree, Void nothing) {
            String name = tree.getName().toString();
            long at = positions.getEndPosition(unit, tree) - (name.equals("<init>") ? 3 : name.length());
            Element target = trees.getElement(getCurrentPath());
            String called = target == null || !name.equals("<init>") ? name
                : target.getEnclosingElement().getSimpleName().toString();
            row("value", at, called, target, "");
            functional(positions.getStartPosition(unit, tree));
            return super.visitMemberReference(tree, nothing);
        }

        @Override
        public Void visitLambdaExpression(LambdaExpressionTree tree, Void nothing) {
            functional(positions.getStartPosition(unit, tree));
            return super.visitLambdaExpression(tree, nothing);
        }

        /** The functional interface of the project that a lambda or method reference implements. */
        void functional(long at) {
            TypeMirror made = trees.getTypeMirror(getCurrentPath());
            if (made != null && made.getKind() == TypeKind.DECLARED) {
                Element type = types.asElement(made);
                if (place(type) != null) {
                    row("lambda", at, type.getSimpleName().toString(), type, "");
                }
            }
        }

        @Override
        public Void visitClass(ClassTree tree, Void nothing) {
            List<Tree> bases = new ArrayList<>(tree.getImplementsClause());
            if (tree.getExtendsClause() != null) {
                bases.add(tree.getExtendsClause());
            }
            for (Tree base : tree.getSimpleName().length() == 0 ? List.<Tree>of() : bases) {
                if (positions.getEndPosition(unit, base) >= 0) {
                    Element type = trees.getElement(new TreePath(getCurrentPath(), base));
                    Tree plain = base instanceof ParameterizedTypeTree ? ((ParameterizedTypeTree) base).getType() : base;
                    String name = type == null ? plain.toString() : type.getSimpleName().toString();
                    row("inherit", positions.getStartPosition(unit, base), name, type, "");
                }
            }
            return super.visitClass(tree, nothing);
        }

        @Override
        public Void visitImport(ImportTree tree, Void nothing) {
            MemberSelectTree select = (MemberSelectTree) tree.getQualifiedIdentifier();
            String name = select.getIdentifier().toString();
            TreePath at = new TreePath(getCurrentPath(), select);
            Set<String> targets = new TreeSet<>();
            boolean all = name.equals("*");
            Tree around = all || tree.isStatic() ? select.getExpression() : select;
            Element element = trees.getElement(all || tree.isStatic() ? new TreePath(at, around) : at);
            boolean resolved = element != null && element.asType().getKind() != TypeKind.ERROR;
            if (resolved && element instanceof TypeElement) {
                fileOf(element, targets);
            } else if (resolved && element instanceof PackageElement) {
                used((PackageElement) element, targets);
            }
            List<String> rows = targets.stream().map(p -> json("path", p, "line", 1, "name", p)).collect(Collectors.toList());
            out.println(json("kind", "import", "path", path(unit), "line", line(positions.getStartPosition(unit, tree)),
                "name", name, "targets", rows, "resolved", resolved));
            return null;
        }

        void fileOf(Element element, Set<String> found) {
            TreePath at = trees.getPath(element);
            if (at != null) {
                found.add(path(at.getCompilationUnit()));
            }
        }

        /** Of a whole package, the files that define a type whose name this file uses. */
        void used(PackageElement around, Set<String> found) {
            Set<String> names = new HashSet<>();
            new TreeScanner<Void, Void>() {
                @Override
                public Void visitIdentifier(IdentifierTree tree, Void nothing) {
                    names.add(tree.getName().toString());
                    return null;
                }

                @Override
                public Void visitImport(ImportTree tree, Void nothing) {
                    return null;
                }
            }.scan(unit, null);
            for (Element type : around.getEnclosedElements()) {
                if (names.contains(type.getSimpleName().toString())) {
                    fileOf(type, found);
                }
            }
        }
    }
}
