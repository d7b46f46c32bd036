// Compiled by javac while it waits for its program: common parts of programs.
import java.io.*;
import java.math.*;
import java.nio.charset.*;
import java.nio.file.*;
import java.time.*;
import java.util.*;
import java.util.function.*;
import java.util.regex.*;
import java.util.stream.*;

class Sample {
    interface Shape { double area(); }

    enum Size { SMALL, LARGE }

    static abstract class Base<T extends Comparable<T>> implements Shape {
        protected final List<T> parts = new ArrayList<>();
        Base(T... given) { for (T part : given) parts.add(part); }
        T greatest() { return Collections.max(parts); }
        @Override public String toString() { return getClass().getSimpleName() + parts; }
    }

    static class Square extends Base<Integer> {
        Square(int side) { super(side, 2 * side); }
        public double area() { return parts.get(0) * (double) parts.get(0); }
    }

    static long fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

    public static void main(String[] args) throws Exception {
        var words = new ArrayList<String>(List.of("one", "two"));
        for (int i = 0; i < 3; i++) words.add("word " + i + 'c' + 1.5);
        Map<String, Integer> counts = new TreeMap<>();
        for (String word : words) counts.merge(word, 1, Integer::sum);
        Function<Integer, Integer> twice = x -> 2 * x;
        String joined = words.stream().filter(w -> w.length() > 1).map(String::toUpperCase)
                .sorted(Comparator.comparing(String::length)).collect(Collectors.joining(","));
        System.out.printf("%s %d %s%n", joined, twice.apply(2), Size.LARGE);
        switch (words.size()) {
            case 1: System.out.println("few"); break;
            default: System.out.println(new Square(3).greatest());
        }
        int[] numbers = {3, 1, 2};
        Arrays.sort(numbers);
        long sum = 0;
        while (sum < 9) { sum += numbers[(int) (sum % 3)]; if (sum == 4) continue; }
        try (BufferedReader in = new BufferedReader(new StringReader(joined))) {
            System.out.println(in.readLine());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } finally {
            System.out.println(new Object() { long get() { return fibonacci(5); } }.get());
        }
        StringBuilder text = new StringBuilder();
        counts.forEach((k, v) -> text.append(k).append(v));
        Runnable task = () -> System.out.println(text);
        Thread thread = new Thread(task);
        thread.start();
        thread.join();
    }
}
