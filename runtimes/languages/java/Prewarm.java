// A started JVM waits for its program: an agent, which the JVM calls before it looks for the main
// class. After the wait the launcher continues, without a frame or thread of this agent.
package ctxmode.prewarm;

import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.instrument.Instrumentation;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.net.URLConnection;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import java.util.Set;
import java.util.concurrent.FutureTask;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

public final class Prewarm {
    private static final int COMPILATIONS = 2;

    private Prewarm() {}

    /**
     * Takes the path of the gate and, if the program is javac, after a comma that of a sample.
     * The main thread only waits for another, so that its own numbers (identity hashes) stay as new.
     */
    public static void premain(String told, Instrumentation jvm) throws Exception {
        String[] paths = told.split(",");
        FutureTask<Void> waiting =
                new FutureTask<>(() -> await(paths[0], paths.length > 1 ? paths[1] : "", jvm));
        new Thread(waiting, "prewarm").start();
        waiting.get();
    }

    private static Void await(String path, String sample, Instrumentation jvm) throws Exception {
        Method tidy = tidyAlone(jvm);
        if (sample.isEmpty()) useLibrary();
        for (int n = 0; n < COMPILATIONS && !sample.isEmpty(); n++) compile(sample);
        tidy.invoke(null, false);
        try (InputStream gate = new FileInputStream(path)) {
            while (gate.read() >= 0) {}
        }
        tidy.invoke(null, true);
        return null;
    }

    /** What takes this agent's traces away, in a module of its own: it alone may look inside. */
    private static Method tidyAlone(Instrumentation jvm) throws Exception {
        URLConnection archived = Prewarm.class.getResource("Tidy.class").openConnection();
        archived.setUseCaches(false); // a cache would keep the archive open
        byte[] octets;
        try (InputStream in = archived.getInputStream()) {
            octets = in.readAllBytes();
        }
        ClassLoader alone =
                new ClassLoader(null) {
                    @Override
                    protected Class<?> findClass(String name) {
                        return defineClass(name, octets, 0, octets.length);
                    }
                };
        Set<Module> itself = Set.of(alone.getUnnamedModule());
        Map<String, Set<Module>> opened = Map.of("java.lang", itself, "jdk.internal.loader", itself);
        Module base = Object.class.getModule();
        jvm.redefineModule(base, Set.of(), Map.of(), opened, Set.of(), Map.of());
        Method tidy =
                alone.loadClass("ctxmode.prewarm.Tidy").getDeclaredMethod("tidy", boolean.class);
        tidy.setAccessible(true);
        return tidy;
    }

    /** What most programs do: join strings, format, make lambdas and streams, read, tell errors. */
    private static void useLibrary() throws IOException {
        PrintStream out = new PrintStream(OutputStream.nullOutputStream(), true, "UTF-8");
        int number = out.hashCode();
        String word = "word" + number;
        double part = number / 3.0;
        out.println("one " + word + ' ' + part + number + out + true);
        out.printf("%d %s %5.2f%n", number, word, part);
        List<String> words = IntStream.range(0, 9).mapToObj(n -> "w" + n + word).sorted()
                .filter(w -> !w.isEmpty()).map(String::toUpperCase).collect(Collectors.toList());
        Map<Integer, Long> sizes = words.stream()
                .collect(Collectors.groupingBy(String::length, Collectors.counting()));
        sizes.merge(1, 1L, Long::sum);
        words.sort(Comparator.comparing(String::length).reversed());
        out.println(sizes + String.join(",", words) + Arrays.asList(word.split("[0-9]+")));
        InputStream typed = new ByteArrayInputStream("a line\n5\n".getBytes("UTF-8"));
        Scanner scanner = new Scanner(typed);
        out.println(scanner.nextLine() + scanner.nextInt());
        new BufferedReader(new InputStreamReader(typed)).lines().count();
        try {
            Integer.parseInt(word);
        } catch (NumberFormatException e) {
            e.printStackTrace(out);
            new IllegalStateException(e).printStackTrace(out);
        }
    }

    private static void compile(String sample) throws IOException {
        Path folder = Files.createTempDirectory("prewarm");
        String[] arguments = {
            "-proc:none", "-nowarn", "-encoding", "UTF-8", "-d", folder.toString(),
            "-sourcepath", folder.toString(), sample
        };
        com.sun.tools.javac.Main.compile(arguments, new PrintWriter(new StringWriter()));
        try (Stream<Path> left = Files.walk(folder)) {
            for (Path path : left.sorted(Comparator.reverseOrder()).collect(Collectors.toList())) {
                Files.delete(path);
            }
        }
    }
}

/** Takes the agent's traces away. */
final class Tidy {
    private Tidy() {}

    /** Before the wait the agent's archive is closed; behind it the class path is read anew. */
    public static void tidy(boolean released) throws ReflectiveOperationException {
        Object loader = ClassLoader.getSystemClassLoader();
        boolean found = false;
        for (Class<?> type = loader.getClass(); type != null; type = type.getSuperclass()) {
            Field field = named(type, "ucp");
            if (field == null) continue;
            found = true;
            if (released) {
                field.set(loader, classPath(field.getType()));
            } else {
                method(field.getType(), "closeLoaders").invoke(field.get(loader));
            }
        }
        if (!found) throw new NoSuchFieldException("ucp"); // then nothing waits in this JDK
        Field numbers = named(Thread.class, "threadSeqNumber");
        if (!released && numbers != null) numbers.setLong(null, numbers.getLong(null) - 1);
    }

    private static Object classPath(Class<?> type) throws ReflectiveOperationException {
        Constructor<?> constructor = type.getDeclaredConstructor(String.class, boolean.class);
        constructor.setAccessible(true);
        return constructor.newInstance(System.getProperty("java.class.path"), false);
    }

    private static Method method(Class<?> type, String name) throws ReflectiveOperationException {
        Method method = type.getDeclaredMethod(name);
        method.setAccessible(true);
        return method;
    }

    private static Field named(Class<?> type, String name) {
        for (Field field : type.getDeclaredFields()) {
            if (!field.getName().equals(name)) continue;
            field.setAccessible(true);
            return field;
        }
        return null;
    }
}
