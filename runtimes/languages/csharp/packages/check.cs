using System;
using System.IO;
using System.Text;

static class Check {
    static int Main(string[] paths) {
        int failed = 0;
        foreach (string path in paths) failed |= Look(path);
        return failed;
    }

    static int Look(string path) {
        byte[] zip = File.ReadAllBytes(path);
        int end = zip.Length - 22;
        while (end >= 0 && BitConverter.ToUInt32(zip, end) != 0x06054b50) end--;
        if (end < 0) return Fail("is not an archive", path);
        int at = BitConverter.ToInt32(zip, end + 16);
        for (int left = BitConverter.ToUInt16(zip, end + 10); left > 0; left--) {
            if (at < 0 || at > end - 46 || BitConverter.ToUInt32(zip, at) != 0x02014b50)
                return Fail("is not an archive", path);
            int length = BitConverter.ToUInt16(zip, at + 28);
            string raw = Encoding.UTF8.GetString(zip, at + 46, Math.Min(length, end - at - 46));
            string name = Uri.UnescapeDataString(raw).Replace('\\', '/');
            if (name.StartsWith("/") || ("/" + name + "/").Contains("/../"))
                return Fail("holds a name that leads out of its folder: " + name, path);
            at += 46 + length + BitConverter.ToUInt16(zip, at + 30)
                + BitConverter.ToUInt16(zip, at + 32);
        }
        return 0;
    }

    static int Fail(string words, string path) {
        Console.Error.WriteLine(Path.GetFileName(path) + " " + words);
        return 1;
    }
}
