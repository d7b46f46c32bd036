using System;
using System.IO;
using System.Text.RegularExpressions;
using Mono.Security.X509;

static class Trust {
    static void Main(string[] args) {
        string text = File.ReadAllText(args[0]);
        foreach (Match one in Regex.Matches(text, "BEGIN CERTIFICATE-----([^-]+)-----END"))
            X509StoreManager.NewCurrentUser.TrustedRoot.Import(
                new X509Certificate(Convert.FromBase64String(one.Groups[1].Value)));
    }
}
