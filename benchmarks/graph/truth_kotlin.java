import com.intellij.openapi.util.Disposer;
import com.intellij.psi.PsiElement;
import com.intellij.psi.PsiFile;
import com.intellij.psi.PsiNameIdentifierOwner;
import com.intellij.psi.util.PsiTreeUtil;
import java.io.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.*;
import java.util.stream.*;
import org.jetbrains.kotlin.cli.FrontendConfigurationKeysKt;
import org.jetbrains.kotlin.cli.common.config.ContentRootsKt;
import org.jetbrains.kotlin.cli.common.messages.MessageCollector;
import org.jetbrains.kotlin.cli.jvm.compiler.*;
import org.jetbrains.kotlin.cli.jvm.config.JvmContentRootsKt;
import org.jetbrains.kotlin.compiler.plugin.CompilerPluginRegistrar;
import org.jetbrains.kotlin.config.*;
import org.jetbrains.kotlin.descriptors.*;
import org.jetbrains.kotlin.psi.*;
import org.jetbrains.kotlin.resolve.*;
import org.jetbrains.kotlin.resolve.calls.model.*;
import org.jetbrains.kotlin.resolve.calls.util.CallUtilKt;
import org.jetbrains.kotlin.types.error.ErrorUtils;

/**
 * Calls, supertypes and imports of a Kotlin project as its compiler resolves them (the first frontend, which goes
 * on after errors). Libraries need not be there; what depends on them is unresolved.
 *
 * java -cp LIB/kotlin-compiler.jar benchmarks/graph/truth_kotlin.java FOLDER LIB [JAR ...] > truth.jsonl
 *
 * LIB is the folder `lib` of the compiler. Several modules are read as one. The rows are those of
 * `truth_java.java`; operators, properties, `invoke` and the constructor of a supertype (`: Base()`) are no calls.
 * Which files of a package an import of all its names uses is not known: they are `others`.
 */
class TruthKotlin {
    static Path root;
    static BindingContext context;
    static List<KtFile> all;
    static final PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);

    public static void main(String[] arguments) throws IOException {
        root = Path.of(arguments[0]).toRealPath();
        List<File> jars = new ArrayList<>();
        for (String name : List.of("kotlin-stdlib", "kotlin-test", "kotlin-reflect")) {
            jars.add(new File(arguments[1], name + ".jar"));
        }
        Arrays.stream(arguments).skip(2).map(File::new).forEach(jars::add);
        CompilerConfiguration configuration = new CompilerConfiguration();
        configuration.put(CommonConfigurationKeys.MODULE_NAME, "truth");
        configuration.put(CommonConfigurationKeys.MESSAGE_COLLECTOR_KEY, MessageCollector.Companion.getNONE());
        LanguageVersion version = LanguageVersion.KOTLIN_2_0;
        configuration.put(CommonConfigurationKeys.LANGUAGE_VERSION_SETTINGS,
            new LanguageVersionSettingsImpl(version, ApiVersion.createByLanguageVersion(version), Map.of(),
                Map.of(LanguageFeature.MultiPlatformProjects, LanguageFeature.State.ENABLED)));
        FrontendConfigurationKeysKt.setExtensionsStorage(configuration, new CompilerPluginRegistrar.ExtensionStorage());
        configuration.put(JVMConfigurationKeys.JDK_HOME, new File(System.getProperty("java.home")));
        JvmContentRootsKt.addJvmClasspathRoots(configuration, jars);
        try (Stream<Path> walk = Files.walk(root)) {
            walk.filter(p -> p.toString().endsWith(".kt") && Files.isRegularFile(p)).sorted()
                .forEach(p -> ContentRootsKt.addKotlinSourceRoot(configuration, p.toString()));
        }
        JvmContentRootsKt.addJavaSourceRoot(configuration, root.toFile());
        JvmContentRootsKt.configureJdkClasspathRoots(configuration);
        KotlinCoreEnvironment environment = KotlinCoreEnvironment.createForProduction(
            Disposer.newDisposable(), configuration, EnvironmentConfigFiles.JVM_CONFIG_FILES);
        List<KtFile> files = environment.getSourceFiles();
        context = TopDownAnalyzerFacadeForJVM.analyzeFilesWithJavaIntegration(environment.getProject(), files,
            new NoScopeRecordCliBindingTrace(environment.getProject()), configuration,
            environment::createPackagePartProvider).getBindingContext();
        all = files;
        for (KtFile file : files) {
            read(file);
        }
        out.flush();
        System.exit(0);
    }

    static String path(PsiFile file) {
        return root.relativize(Path.of(file.getViewProvider().getVirtualFile().getPath())).toString();
    }

    static int line(PsiElement element) {
        String text = element.getContainingFile().getText();
        return 1 + (int) text.substring(0, element.getTextRange().getStartOffset()).chars().filter(c -> c == '\n').count();
    }

    /** Where a descriptor is declared in the project, as JSON; null for a library. */
    static String place(DeclarationDescriptor descriptor) {
        if (descriptor instanceof ConstructorDescriptor && !isWritten(descriptor)) {
            return place(((ConstructorDescriptor) descriptor).getConstructedClass());
        }
        PsiElement source = DescriptorToSourceUtils.descriptorToDeclaration(descriptor);
        if (source == null || source.getContainingFile() == null) {
            return null;
        }
        if (source instanceof KtPrimaryConstructor) {
            source = ((KtPrimaryConstructor) source).getContainingClassOrObject();
        }
        if (source.getContainingFile().getViewProvider().getVirtualFile().getPath().contains("!")) {
            return null;
        }
        PsiElement name = source instanceof PsiNameIdentifierOwner ? ((PsiNameIdentifierOwner) source).getNameIdentifier() : null;
        String called = source instanceof KtSecondaryConstructor ? "constructor" : name == null ? "companion" : name.getText();
        return json("path", path(source.getContainingFile()), "line", line(name == null ? source : name), "name", called);
    }

    static boolean isWritten(DeclarationDescriptor descriptor) {
        return DescriptorToSourceUtils.descriptorToDeclaration(descriptor) instanceof KtSecondaryConstructor;
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

    static void row(String kind, PsiElement at, String name, Collection<? extends DeclarationDescriptor> targets) {
        boolean resolved = !targets.isEmpty() && targets.stream().noneMatch(d -> ErrorUtils.isError(d));
        List<String> places = targets.stream().map(TruthKotlin::place).filter(Objects::nonNull).distinct().collect(Collectors.toList());
        out.println(json("kind", kind, "path", path(at.getContainingFile()), "line", line(at), "name", name,
            "targets", resolved ? places : List.of(), "resolved", resolved));
    }

    /** The function that a call means, and its overloads in the same place with the same number of parameters. */
    static List<DeclarationDescriptor> overloads(DeclarationDescriptor target) {
        List<DeclarationDescriptor> found = new ArrayList<>(List.of(target));
        PsiElement source = DescriptorToSourceUtils.descriptorToDeclaration(target);
        if (source instanceof KtNamedFunction) {
            for (PsiElement sibling : source.getParent().getChildren()) {
                if (sibling != source && sibling instanceof KtNamedFunction
                    && Objects.equals(((KtNamedFunction) sibling).getName(), ((KtNamedFunction) source).getName())) {
                    DeclarationDescriptor other = context.get(BindingContext.DECLARATION_TO_DESCRIPTOR, sibling);
                    if (other instanceof FunctionDescriptor && ((FunctionDescriptor) other).getValueParameters().size()
                        == ((FunctionDescriptor) target).getValueParameters().size()) {
                        found.add(other);
                    }
                }
            }
        }
        return found;
    }

    static void read(KtFile file) {
        for (KtCallElement call : PsiTreeUtil.collectElementsOfType(file, KtCallElement.class)) {
            if (call instanceof KtAnnotationEntry || call instanceof KtSuperTypeCallEntry || PsiTreeUtil.getParentOfType(call, KtInitializerList.class) != null) {
                continue;
            }
            PsiElement callee = call.getCalleeExpression();
            KtSimpleNameExpression name = callee instanceof KtSimpleNameExpression ? (KtSimpleNameExpression) callee
                : PsiTreeUtil.findChildOfType(callee, KtSimpleNameExpression.class);
            if (name == null || name.getReferencedName().isEmpty() || callee instanceof KtConstructorDelegationReferenceExpression) {
                continue;
            }
            ResolvedCall<? extends CallableDescriptor> resolved = CallUtilKt.getResolvedCall(call, context);
            if (resolved instanceof VariableAsFunctionResolvedCall) {
                continue;  // `invoke` of a variable
            }
            row("call", name, name.getReferencedName(),
                resolved == null ? List.of() : overloads(resolved.getResultingDescriptor().getOriginal()));
        }
        for (KtSuperTypeListEntry entry : PsiTreeUtil.collectElementsOfType(file, KtSuperTypeListEntry.class)) {
            KtTypeReference type = entry.getTypeReference();
            KtSimpleNameExpression name = type == null || !(type.getTypeElement() instanceof KtUserType) ? null
                : ((KtUserType) type.getTypeElement()).getReferenceExpression();
            if (name != null && !(entry instanceof KtSuperTypeCallEntry && entry.getParent().getParent() instanceof KtEnumEntry)) {
                DeclarationDescriptor target = context.get(BindingContext.REFERENCE_TARGET, name);
                row("inherit", name, name.getReferencedName(), target == null ? List.of() : List.of(target));
            }
        }
        for (KtImportDirective directive : file.getImportDirectives()) {
            KtExpression reference = directive.getImportedReference();
            KtSimpleNameExpression name = reference instanceof KtDotQualifiedExpression
                ? (KtSimpleNameExpression) ((KtDotQualifiedExpression) reference).getSelectorExpression()
                : (KtSimpleNameExpression) reference;
            Set<String> targets = new TreeSet<>();
            if (directive.isAllUnder()) {
                all.stream().filter(f -> f.getPackageFqName().equals(directive.getImportedFqName()))
                    .forEach(f -> targets.add(path(f)));
            }
            for (DeclarationDescriptor target : imported(name)) {
                PsiElement source = DescriptorToSourceUtils.descriptorToDeclaration(target);
                if (source != null && source.getContainingFile() instanceof KtFile) {
                    targets.add(path(source.getContainingFile()));
                } else if (source != null && source.getContainingFile().getName().endsWith(".java")) {
                    targets.add(path(source.getContainingFile()));
                }
            }
            List<String> rows = targets.stream().map(p -> json("path", p)).collect(Collectors.toList());
            String part = directive.isAllUnder() ? "others" : "targets";
            out.println(json("kind", "import", "path", path(file), "line", line(directive), part, rows,
                directive.isAllUnder() ? "targets" : "others", List.of(), "resolved", !targets.isEmpty()));
        }
    }

    static Collection<? extends DeclarationDescriptor> imported(KtSimpleNameExpression name) {
        if (name == null) {
            return List.of();
        }
        DeclarationDescriptor one = context.get(BindingContext.REFERENCE_TARGET, name);
        Collection<? extends DeclarationDescriptor> several = context.get(BindingContext.AMBIGUOUS_REFERENCE_TARGET, name);
        return one != null ? List.of(one) : several != null ? several : List.of();
    }
}
