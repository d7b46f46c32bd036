// Compiled by mcs while it waits for its program: common parts of programs.
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Text;
using System.Text.RegularExpressions;
using System.Threading;
using System.Threading.Tasks;

interface IShape { double Area { get; } }

abstract class Base<T> : IShape where T : IComparable<T> {
    protected readonly List<T> parts = new List<T>();
    public abstract double Area { get; }
    public override string ToString() { return GetType().Name + string.Join(",", parts); }
}

class Square : Base<int> {
    public Square(int side) { parts.Add(side); }
    public override double Area => parts[0] * 2.0;
}

static class Sample {
    static long Fibonacci(int n) { return n < 2 ? n : Fibonacci(n - 1) + Fibonacci(n - 2); }
    static IEnumerable<int> Some() { for (int i = 0; i < 3; i++) yield return i; }
    static async Task<int> Later() { await Task.Delay(1); return 2; }

    static void Main(string[] args) {
        var words = new List<string> { "one", "two" };
        var counts = new Dictionary<string, int>();
        foreach (var word in words) counts[word] = word.Length;
        Func<int, int> twice = x => 2 * x;
        Console.WriteLine("one " + words[0] + twice(2) + $"{words.Count} {counts["one"]:D3}");
        var chosen = words.Where(w => w.Length > 1).Select(w => w.ToUpper()).OrderBy(w => w);
        Console.WriteLine(string.Join(",", chosen));
        try {
            using (var reader = new StringReader("a")) Console.WriteLine(reader.ReadLine());
        } catch (IOException e) {
            throw new InvalidOperationException("no", e);
        } finally {
            Console.WriteLine(Fibonacci(5));
        }
        switch (words.Count) {
            case 1: Console.WriteLine("few"); break;
            default: Console.WriteLine(new Square(2)); break;
        }
        int[] numbers = { 3, 1, 2 };
        Array.Sort(numbers);
        long sum = 0;
        while (sum < 9) { sum += numbers[(int) (sum % 3)]; if (sum == 4) continue; }
        var thread = new Thread(() => Console.WriteLine(sum));
        thread.Start();
        thread.Join();
        Console.WriteLine(Some().Sum() + Later().Result);
    }
}
