word = "elixir"
IO.puts("hello from #{word}")
