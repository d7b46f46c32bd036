defmodule FileContent do
  def read(path), do: path |> File.read!() |> replace_invalid([])

  defp replace_invalid(octets, done) do
    case :unicode.characters_to_binary(octets) do
      {:error, valid, <<_, rest::binary>>} -> replace_invalid(rest, [done, valid, "\uFFFD"])
      {:incomplete, valid, _} -> IO.iodata_to_binary([done, valid, "\uFFFD"])
      valid -> IO.iodata_to_binary([done, valid])
    end
  end
end

[script | arguments] = System.argv()
System.argv(arguments)

names = ~S'''
  file_content_path = System.fetch_env!("FILE_CONTENT_PATH")
  file_content = FileContent.read(file_content_path)
  _ = {file_content_path, file_content}
  '''

program = String.replace(names, "\n", "; ") <> File.read!(script)
Code.compile_string(program, Path.expand(script))
