digest = ~r/\A[0-9a-f]{64}\z/
plain = ~r/\A[A-Za-z0-9._+-]+\z/
refuse = fn words -> IO.puts(:stderr, words); System.halt(1) end
entries =
  case Code.string_to_quoted(File.read!(hd(System.argv()))) do
    {:ok, {:%{}, _, entries}} -> entries
    _ -> refuse.("this is not a lock of Mix")
  end
for entry <- entries do
  {name, parts} =
    case entry do
      {name, {:{}, _, parts}} when is_atom(name) or is_binary(name) -> {name, parts}
      _ -> {"an entry", []}
    end
  case parts do
    [:hex, package, version, inner, _, _, "hexpm", outer]
    when is_atom(package) and is_binary(version) and is_binary(inner) and is_binary(outer) ->
      unless outer =~ digest, do: refuse.("the lock holds no digest of #{name}")
      file = "#{package}-#{version}.tar"
      unless file =~ plain, do: refuse.("a name that leads out of its folder: #{file}")
      File.write!("digests", "#{outer}  #{file}\n", [:append])
      as = if to_string(name) == to_string(package), do: "", else: ", hex: #{inspect(package)}"
      app = name |> to_string() |> String.to_atom() |> inspect()
      IO.puts("{#{app}, #{inspect("== " <> version)}#{as}, override: true},")
    [:hex, _, _ | _] -> refuse.("the lock holds no digest of #{name}, or it is of another registry")
    _ -> refuse.("#{name} is of no registry")
  end
end
