word = "ruby"
puts "hello from #{word}"
