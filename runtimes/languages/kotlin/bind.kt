package file_content_binding

val FILE_CONTENT_PATH: String = System.getenv("FILE_CONTENT_PATH")
val FILE_CONTENT: String = String(java.io.File(FILE_CONTENT_PATH).readBytes(), Charsets.UTF_8)
