# ruff: noqa: E501 - programs stay in one piece
"""Compiled programs that tell how they were started, by language, as in `warm_programs`."""

from __future__ import annotations

JAVA = {
    "names": "System.out.println(Thread.currentThread().getName() + Thread.currentThread().getThreadGroup() + "
    "java.util.Arrays.toString(new Exception().getStackTrace()) + Main.class.getClassLoader().getClass());\nThread.dumpStack();",
    "stack": "StackWalker.getInstance().forEach(System.out::println);\n"
    "System.out.println(Thread.currentThread().getContextClassLoader() == ClassLoader.getSystemClassLoader());",
    "properties": "new TreeMap<>(System.getProperties()).forEach((k, v) -> System.out.println(k + '=' + v));",
    "class path": "System.out.println(Main.class.getProtectionDomain().getCodeSource().getLocation());\n"
    'System.out.println(Main.class.getResource("Main.class") + " " + Main.class.getResource("/numbers.txt"));\n'
    'Main.class.getClassLoader().getResources("META-INF/MANIFEST.MF").asIterator().forEachRemaining(System.out::println);',
    "no such class": 'try { Class.forName("Nowhere"); } catch (ClassNotFoundException e) { System.out.println(e); }\n'
    'Class.forName("nowhere.At");',
    "modules": "System.out.println(ModuleLayer.boot().modules().stream().map(Module::getName).sorted().collect(Collectors.toList()));\n"
    "Module base = Object.class.getModule(), ours = Main.class.getModule();\n"
    'System.out.println(base.isOpen("jdk.internal.loader", ours) + " " + base.isOpen("java.lang", ours) + ours.isNamed());',
    "closed": 'try {\n  Thread.class.getDeclaredField("threadSeqNumber").setAccessible(true);\n'
    "} catch (RuntimeException e) {\n  System.out.println(e.getClass());\n}",
    "environment": "new TreeMap<>(System.getenv()).forEach((k, v) -> System.out.println(k + '=' + v));\n"
    'System.out.println(Path.of("").toAbsolutePath() + " " + new File("x").getAbsolutePath());',
    "place": 'System.out.println(Locale.getDefault() + " " + Charset.defaultCharset() + TimeZone.getDefault().getID());\n'
    'System.out.println(System.console() + " " + System.getSecurityManager());',
    "descriptors": 'System.out.println(new File("/proc/self/fd").list().length);\n'
    'System.out.println(Arrays.asList(new File("/job").list()) + new TreeSet<>(Arrays.asList(new File("/tmp").list())));',
    "threads": "for (var t : new TreeMap<>(Thread.getAllStackTraces().keySet().stream().collect(Collectors.groupingBy(Thread::getName))).keySet()) System.out.println(t);\n"
    "var t = new Thread(() -> System.out.println(Thread.currentThread()));\nt.start();\nt.join();",
    "many threads": "System.out.println(IntStream.range(0, 1000).parallel().sum());\n"
    "var pool = java.util.concurrent.Executors.newFixedThreadPool(2);\n"
    "System.out.println(pool.submit(() -> Thread.currentThread().getName()).get());\npool.shutdown();",
    "uncaught error": "class A { static int f(int n) { return 1 / n; } }\nclass B { static int g() { return A.f(0); } }\nB.g();",
    "chained error": 'try {\n  Integer.parseInt("x");\n} catch (NumberFormatException e) {\n  throw new IllegalStateException("second", e);\n}',
    "error in a lambda": "Stream.of(1, 0).map(n -> 1 / n).forEach(System.out::println);",
    "error while loading": 'public class Main {\n  static int n = Integer.parseInt("x");\n  public static void main(String[] a) { System.out.println(n); }\n}',
    "error in a thread": 'var t = new Thread(() -> { throw new RuntimeException("lost"); });\nt.start();\nt.join();\nSystem.out.println("on");',
    "deep": "class A { static int f(int n) { return f(n + 1) + 1; } }\ntry { A.f(0); } catch (StackOverflowError e) { System.out.println(e); }",
    "compilation error": 'int x = "text";\nmissing();',
    "syntax error": 'System.out.println("never");\nif (true System.out.println(1);',
    "compiler's note": "List raw = new ArrayList();\nraw.add(1);\nSystem.out.println(raw);",
    "no main": "class Other { int x; }",
    "exit code": 'System.out.println("bye");\nSystem.exit(3);',
    "hard exit": 'System.out.print("kept");\nSystem.out.flush();\nRuntime.getRuntime().halt(4);',
    "at exit": 'Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("last")));\nthrow new Exception("first");',
    "threads that go on": "var d = new Thread(() -> { while (true); });\nd.setDaemon(true);\nd.start();\n"
    'var said = new java.util.concurrent.CountDownLatch(1);\nnew Thread(() -> { try { said.await(); Thread.sleep(50); } catch (InterruptedException e) { } System.out.println("late"); }).start();\nSystem.out.println("main");\nsaid.countDown();',
    "signal": 'System.out.println("now");\nnew ProcessBuilder("sh", "-c", "kill -TERM " + ProcessHandle.current().pid()).inheritIO().start();\nThread.sleep(5000);',
    "order": "for (int n = 0; n < 3; n++) {\n  System.out.println(n);\n  System.err.println(n);\n}",
    "processes": 'System.out.print(new String(new ProcessBuilder("sh", "-c", "env | sort | grep -v ^_=; ulimit -n; pwd").start().getInputStream().readAllBytes()));',
    "a class of its own": "package deep.inside;\npublic class Named {\n  record Point(int x, int y) {}\n"
    "  public static void main(String... args) throws Exception {\n    System.out.println(new Point(1, 2) + Named.class.getName() + args.length);\n    throw new Exception();\n  }\n}",
    "long": f'String x = "{"1" * 60_000}";\nSystem.out.println(x.length());\nthrow new Exception();',
    "writes": 'Files.writeString(Path.of("made.txt"), "x");\nFiles.writeString(Path.of("numbers.txt"), "4", StandardOpenOption.APPEND);',
    "input": "var in = new Scanner(System.in);\nwhile (in.hasNextLine()) System.out.println(in.nextLine());",
    "input as bytes": 'System.out.println(System.in.read() + " " + System.in.available());',
    "arguments": "System.out.println(Arrays.toString(args) + args.length);",
    "bound file": 'System.out.println(FILE_CONTENT + FILE_CONTENT_PATH + System.getenv("FILE_CONTENT_PATH"));\nthrow new Exception("x");',
}

CSHARP = {
    "names": "Console.WriteLine(Environment.StackTrace);\nConsole.WriteLine(System.Reflection.Assembly.GetEntryAssembly() + AppDomain.CurrentDomain.FriendlyName + AppDomain.CurrentDomain.BaseDirectory);",
    "domain": 'Console.WriteLine(AppDomain.CurrentDomain.Id + string.Join(",", AppDomain.CurrentDomain.GetAssemblies().Select(a => a.GetName().Name)));\nConsole.WriteLine(System.Threading.Thread.CurrentThread.ManagedThreadId);',
    "environment": "foreach (var name in Environment.GetEnvironmentVariables().Keys.Cast<string>().OrderBy(n => n)) Console.WriteLine(name + Environment.GetEnvironmentVariable(name));\nConsole.WriteLine(Environment.CurrentDirectory);",
    "descriptors": 'Console.WriteLine(Directory.GetFiles("/proc/self/fd").Length);\nConsole.WriteLine(string.Join(",", Directory.GetFiles("/job")));',
    "uncaught error": 'static int F(int n) { return 1 / n; }\nConsole.WriteLine("first");\nF(0);',
    "chained error": 'try { int.Parse("x"); } catch (Exception e) { throw new InvalidOperationException("second", e); }',
    "error in a thread": 'var t = new Thread(() => { throw new Exception("lost"); });\nt.Start();\nt.Join();\nThread.Sleep(5000);',
    "compilation error": 'int x = "text";\nMissing();',
    "syntax error": 'Console.WriteLine("never");\nif (true Console.WriteLine(1);',
    "exit code": 'Console.WriteLine("bye");\nEnvironment.Exit(3);',
    "result": "return args.Length + 4;",
    "at exit": 'AppDomain.CurrentDomain.ProcessExit += (s, e) => Console.WriteLine("last");\nthrow new Exception("first");',
    "threads that go on": 'var said = new ManualResetEvent(false);\nnew Thread(() => { said.WaitOne(); Thread.Sleep(50); Console.WriteLine("late"); }).Start();\nnew Thread(() => { while (true) Thread.Sleep(9); }) { IsBackground = true }.Start();\nConsole.WriteLine("main");\nsaid.Set();',
    "tasks": "async Task<int> F() { await Task.Delay(1); return 5; }\nConsole.WriteLine(await F());\nConsole.WriteLine(Enumerable.Range(0, 100).AsParallel().Sum());",
    "order": "for (int n = 0; n < 3; n++) { Console.WriteLine(n); Console.Error.WriteLine(n); }",
    "whole program": 'namespace Deep { class Named { static int Main(string[] args) { Console.WriteLine(typeof(Named) + string.Join("|", Environment.GetCommandLineArgs())); return 2; } } }',
    "writes": 'File.WriteAllText("made.txt", "x");\nFile.AppendAllText("numbers.txt", "4");',
    "input": "string line;\nwhile ((line = Console.ReadLine()) != null) Console.WriteLine(line);",
    "arguments": 'Console.WriteLine(string.Join("|", args) + string.Join("|", Environment.GetCommandLineArgs()));',
    "bound file": 'Console.WriteLine(FILE_CONTENT + FILE_CONTENT_PATH + Environment.GetEnvironmentVariable("FILE_CONTENT_PATH"));\nthrow new Exception("x");',
}

PROGRAMS = {"java": JAVA, "csharp": CSHARP}
