var word = "c#";
Console.WriteLine("hello from " + word);
