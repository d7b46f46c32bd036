# Elixir for a user: evaluates one program after the other with the names that those
# before it bound, and shows their values as IEx does.
#
# A request comes on descriptor 3: a line with a token and the sizes of the fields after it
# (folder, bound file, name, code, arguments). The answer goes to descriptor 4: the token and an
# exit code. Programs run in a separate process, which SIGUSR2 ends (interrupt.sh makes it from
# SIGINT, which the machine uses itself): the names bound so far remain.
defmodule CtxmodeDriver do
  def serve do
    {:ok, requests} = :file.open("/proc/self/fd/3", [:read, :raw, :binary])
    {:ok, answers} = :file.open("/proc/self/fd/4", [:write, :raw, :binary])
    server = self()
    {:ok, _} = System.trap_signal(:sigusr2, fn -> send(server, :interrupt) && :ok end)
    loop(requests, answers, {evaluator(), [], Code.env_for_eval([])})
  end

  defp loop(requests, answers, state) do
    with header when header != "" <- line(requests, "") do
      [token | sizes] = String.split(header)
      [folder, bound, name, code | arguments] = Enum.map(sizes, &field(requests, &1))
      if folder != "", do: File.cd!(folder)
      System.argv(arguments)
      {status, state} = ask(state, code, name, bound)
      Enum.each([:user, :standard_error], &flush/1)
      :ok = :file.write(answers, "#{token} #{status}\n")
      loop(requests, answers, state)
    end
  end

  # Ports write after answering the printing process: flush all before a program ends.
  defp flush(name) do
    {:links, links} = Process.info(Process.whereis(name), :links)
    for port <- links, is_port(port), do: await(port)
  end

  defp await(port) do
    case Port.info(port, :queue_size) do
      {:queue_size, size} when size > 0 ->
        Process.sleep(1)
        await(port)

      _ ->
        :ok
    end
  end

  # The evaluator is one lasting process, so that `self()` is the same in every program.
  defp evaluator do
    server = self()
    {pid, _} = spawn_monitor(fn -> evaluate(server) end)
    pid
  end

  defp evaluate(server) do
    receive do
      {^server, code, name, binding, env} -> send(server, {self(), run(code, name, binding, env)})
    end

    evaluate(server)
  end

  defp ask({pid, binding, env}, code, name, bound) do
    forget_interrupts()
    binding = bind(binding, bound)
    send(pid, {self(), code, name, binding, env})

    receive do
      {^pid, {status, binding, env}} ->
        {status, {pid, binding, env}}

      :interrupt ->
        stop(pid)
        {130, {evaluator(), binding, env}}

      {:DOWN, _, :process, ^pid, reason} ->
        IO.puts(:stderr, "** (EXIT) " <> Exception.format_exit(reason))
        {1, {evaluator(), binding, env}}
    end
  end

  defp forget_interrupts do
    receive do
      :interrupt -> forget_interrupts()
    after
      0 -> :ok
    end
  end

  # Processes that it has started are in separate process groups.
  defp stop(pid) do
    {:links, links} = Process.info(pid, :links) || {:links, []}
    started = for port <- links, is_port(port), do: Port.info(port, :os_pid)
    Process.exit(pid, :kill)
    for {:os_pid, id} <- started, do: :os.cmd('kill -INT -#{id} 2>/dev/null')

    receive do
      {:DOWN, _, :process, ^pid, _} -> :ok
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
