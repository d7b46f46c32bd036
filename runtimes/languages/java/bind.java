package file_content_binding;

public final class FileContent {
    public static final String FILE_CONTENT_PATH = System.getenv("FILE_CONTENT_PATH");
    public static final String FILE_CONTENT = read();

    private static String read() {
        try {
            var path = java.nio.file.Path.of(FILE_CONTENT_PATH);
            byte[] octets = java.nio.file.Files.readAllBytes(path);
            return new String(octets, java.nio.charset.StandardCharsets.UTF_8);
        } catch (java.io.IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }
}
