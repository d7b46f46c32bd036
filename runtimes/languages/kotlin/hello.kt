val word = "kotlin"
println("hello from " + word)
