static class FileContentBinding {
    public static readonly string FILE_CONTENT_PATH =
        System.Environment.GetEnvironmentVariable("FILE_CONTENT_PATH");
    public static readonly string FILE_CONTENT =
        new System.Text.UTF8Encoding(false).GetString(System.IO.File.ReadAllBytes(FILE_CONTENT_PATH));
}
