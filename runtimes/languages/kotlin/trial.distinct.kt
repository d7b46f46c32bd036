// How many different words are there?
import java.io.File

fun main(args: Array<String>) {
    val text = File("corpus.txt").readText(Charsets.ISO_8859_1)
    println(Regex("[A-Za-z_]+").findAll(text).map { it.value }.toSet().size)
}
