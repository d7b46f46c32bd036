# Keeps an Elixir for a person: evaluates one program after the other with the names that those
# before it bound, and shows their values as IEx does.
#
# A request comes on descriptor 3: a line with a token and the sizes of the fields behind it
# (folder, bound file, name, code, arguments). The answer goes to descriptor 4: the token and an
# exit code.
defmodule CtxmodeDriver do
  def serve do
    {:ok, requests} = :file.open("/proc/self/fd/3", [:read, :raw, :binary])
    {:ok, answers} = :file.open("/proc/self/fd/4", [:write, :raw, :binary])
    loop(requests, answers, [], Code.env_for_eval([]))
  end

  defp loop(requests, answers, binding, env) do
    with header when header != "" <- line(requests, "") do
      [token | sizes] = String.split(header)
      [folder, bound, name, code | arguments] = Enum.map(sizes, &field(requests, &1))
      if folder != "", do: File.cd!(folder)
      System.argv(arguments)
      binding = bind(binding, bound)
      {status, binding, env} = run(code, name, binding, env)
      :ok = :file.write(answers, "#{token} #{status}\n")
      loop(requests, answers, binding, env)
    end
  end

  defp run(code, name, binding, env) do
    quoted = Code.string_to_quoted!(code, file: name)
    {value, binding, env} = Code.eval_quoted_with_env(quoted, binding, %{env | file: name})
    IO.puts(inspect(value, pretty: true))
    {0, binding, env}
  catch
    :exit, {:shutdown, status} when is_integer(status) -> {rem(status, 256), binding, env}
    kind, reason -> {complain(kind, reason, __STACKTRACE__), binding, env}
  end

  # Down to the evaluator's own frames.
  defp complain(kind, reason, stack) do
    own = Enum.take_while(stack, &(elem(&1, 0) not in [:erl_eval, :elixir, __MODULE__, Code]))
    IO.puts(:stderr, Exception.format(kind, reason, own))
    1
  end

  defp bind(binding, ""), do: binding

  defp bind(binding, path) do
    Keyword.merge(binding, file_content: File.read!(path), file_content_path: path)
  end

  defp line(requests, so_far) do
    case :file.read(requests, 1) do
      {:ok, "\n"} -> so_far
      {:ok, octet} -> line(requests, so_far <> octet)
      :eof -> ""
    end
  end

  defp field(_requests, "0"), do: ""

  defp field(requests, size) do
    filled(requests, String.to_integer(size), "")
  end

  defp filled(_requests, 0, so_far), do: so_far

  defp filled(requests, size, so_far) do
    {:ok, part} = :file.read(requests, size)
    filled(requests, size - byte_size(part), so_far <> part)
  end
end

CtxmodeDriver.serve()
