// Prints the calls and base types of an assembly as its compiler resolved them; `truth_csharp.py` uses it.
//
// One line per call: "call", source file, line, name, type and name of the method, number of parameters, types that
// override it, those of the caller's own hierarchy first and after "|" the others.
// One line per base type: "base", type, base type. Types outside of the assembly are "-".

using System;
using System.Collections.Generic;
using System.Linq;
using Mono.Cecil;
using Mono.Cecil.Cil;
using Mono.CompilerServices.SymbolWriter;

public static class Truth
{
    public static void Main(string[] arguments)
    {
        var module = ModuleDefinition.ReadModule(arguments[0]);
        var symbols = MonoSymbolFile.ReadSymbolFile(arguments[0] + ".mdb");
        foreach (var type in module.GetTypes())
        {
            PrintBases(type, module);
            foreach (var method in type.Methods.Where(each => each.HasBody)) PrintCalls(method, module, symbols);
        }
    }

    static void PrintBases(TypeDefinition type, ModuleDefinition module)
    {
        var bases = type.Interfaces.Select(each => each.InterfaceType).Concat(new[] { type.BaseType });
        foreach (var each in bases.Where(each => each != null))
            Console.WriteLine(string.Join("\t", "base", Name(type, module), Simple(each.Name), Name(Definition(each), module)));
    }

    static void PrintCalls(MethodDefinition method, ModuleDefinition module, MonoSymbolFile symbols)
    {
        var entry = symbols.GetMethodByToken(method.MetadataToken.ToInt32());
        if (entry == null) return;
        var lines = entry.GetLineNumberTable().LineNumbers.Where(each => !each.IsHidden).ToArray();
        foreach (var instruction in method.Body.Instructions)
        {
            var here = lines.LastOrDefault(each => each.Offset <= instruction.Offset);
            var called = instruction.Operand as MethodReference;
            if (here == null || called == null) continue;
            var code = instruction.OpCode.Code;
            if (code != Code.Call && code != Code.Callvirt && code != Code.Newobj) continue;
            var isConstructor = called.Name == ".ctor";
            if (isConstructor && code != Code.Newobj) continue;
            var definition = Definition(called.DeclaringType);
            var target = definition == null || definition.Module != module ? null : Resolve(called);
            if (!isConstructor && (called.Name.StartsWith("get_") || called.Name.StartsWith("set_") || called.Name.StartsWith("op_"))) continue;
            var overriding = isConstructor || definition == null ? new TypeDefinition[0] : Overriding(called, definition, module).ToArray();
            var own = overriding.Where(each => Hierarchy(Outer(method.DeclaringType)).Contains(each)).ToArray();
            var name = isConstructor ? Simple(called.DeclaringType.Name) : called.Name;
            Console.WriteLine(string.Join("\t", "call", symbols.GetSourceFile(here.File).FileName, here.Row, name,
                target == null ? "-" : Name(definition, module), isConstructor ? ".ctor" : called.Name, called.Parameters.Count,
                string.Join(",", own.Select(each => Name(each, module))) + "|"
                    + string.Join(",", overriding.Except(own).Select(each => Name(each, module)))));
        }
    }

    static IEnumerable<TypeDefinition> Overriding(MethodReference called, TypeDefinition definition, ModuleDefinition module)
    {
        return module.GetTypes().Where(type => type != definition && Hierarchy(type).Contains(definition)
            && type.Methods.Any(each => each.IsVirtual && !each.IsNewSlot && each.Name == called.Name
                && each.Parameters.Count == called.Parameters.Count));
    }

    static IEnumerable<TypeDefinition> Hierarchy(TypeDefinition type)
    {
        for (; type != null; type = type.BaseType == null ? null : Definition(type.BaseType)) yield return type;
    }

    static TypeDefinition Outer(TypeDefinition type)
    {
        return type.Name.StartsWith("<") && type.DeclaringType != null ? Outer(type.DeclaringType) : type;
    }

    static TypeDefinition Definition(TypeReference type)
    {
        try { return type.Resolve(); } catch (AssemblyResolutionException) { return null; }
    }

    static MethodDefinition Resolve(MethodReference method)
    {
        try { return method.Resolve(); } catch (AssemblyResolutionException) { return null; }
    }

    static string Simple(string name)
    {
        return name.Split('`')[0];
    }

    static string Name(TypeDefinition type, ModuleDefinition module)
    {
        if (type == null || type.Module != module) return "-";
        var outer = type.DeclaringType == null ? type.Namespace : Name(type.DeclaringType, module);
        return outer + "." + Simple(type.Name);
    }
}
