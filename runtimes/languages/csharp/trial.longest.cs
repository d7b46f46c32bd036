// How many bytes has the longest line?
using System;
using System.IO;

class Program
{
    static void Main()
    {
        int longest = 0, length = 0;
        foreach (byte b in File.ReadAllBytes("corpus.txt"))
        {
            length = b == 10 ? 0 : length + 1;
            longest = Math.Max(longest, length);
        }
        Console.WriteLine(longest);
    }
}
