# A started Elixir waits for its program: required before the program, once the
# compiler has been loaded by using it.
Code.compile_string("""
defmodule Prewarm do
  defstruct [:a]
  def run(list), do: for(x <- list, is_integer(x), do: inspect(x)) |> Enum.join(",")
  def run(list, other) when is_list(list), do: Enum.map(list, &(&1 + other)) |> Enum.sum()
end
""")

:code.purge(Prewarm)
:code.delete(Prewarm)
:code.purge(Prewarm)

Code.eval_string("""
try do
  fun = fn x -> with {:ok, y} <- {:ok, x}, do: String.split("a b " <> to_string(y)) end
  _ = {inspect(fun.(1)), case(1, do: (1 -> :ok)), if(true, do: 1), Enum.to_list(1..2)}
rescue
  e in RuntimeError -> Exception.message(e)
end
""")

Code.ensure_loaded(IO)
Code.ensure_loaded(Kernel.CLI)
File.read!(Path.join(__DIR__, "gate"))

# This file counts as required only when it has ended. The waiting process is not part of it, so
# that the compiler's name for it is free again.
Code.eval_string("""
file = #{inspect(__ENV__.file)}
forget = fn forget ->
  if file in Code.required_files(), do: Code.unrequire_files([file]), else: forget.(forget)
end
spawn(fn -> forget.(forget) end)
""")
