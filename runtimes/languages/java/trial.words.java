// How many words are there?
import java.nio.file.Files;
import java.nio.file.Path;

public class Main {
    public static void main(String[] args) throws Exception {
        int words = 0;
        boolean inside = false;
        for (byte b : Files.readAllBytes(Path.of("corpus.txt"))) {
            boolean letter = (b >= 'A' && b <= 'Z') || (b >= 'a' && b <= 'z') || b == '_';
            if (letter && !inside) {
                words++;
            }
            inside = letter;
        }
        System.out.println(words);
    }
}
