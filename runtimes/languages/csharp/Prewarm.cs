// A started Mono compiler waits for its program. Arguments: the gate, a sample to compile before
// the wait, and then those of mcs, which continues by itself.
using System;
using System.IO;
using System.Reflection;

static class Prewarm {
    static int Main(string[] told) {
        string library = Path.GetDirectoryName(typeof(object).Assembly.Location);
        Assembly mcs = Assembly.LoadFrom(Path.Combine(library, "mcs.exe"));
        var arguments = new string[told.Length - 2];
        Array.Copy(told, 2, arguments, 0, arguments.Length);
        Compile(mcs, told[1]);
        using (FileStream gate = File.OpenRead(told[0])) {
            while (gate.ReadByte() >= 0) {}
        }
        return (int) mcs.EntryPoint.Invoke(null, new object[] { arguments });
    }

    static void Compile(Assembly mcs, string sample) {
        string made = Path.Combine(Path.GetTempPath(), "prewarm.exe");
        string[] arguments = {
            "-debug", "-warn:0", "-optimize+", "-codepage:utf8", "-langversion:latest",
            "-r:System.Core.dll", "-r:System.Numerics.dll", "-out:" + made, sample
        };
        mcs.GetType("Mono.CSharp.CompilerCallableEntryPoint").GetMethod("InvokeCompiler")
            .Invoke(null, new object[] { arguments, new StringWriter() });
        File.Delete(made);
        File.Delete(made + ".mdb");
    }
}
