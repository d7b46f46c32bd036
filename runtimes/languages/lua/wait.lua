-- A started Lua waits for its program. Run by `-e`, before the program is opened.
do
  local here = debug.getinfo(1, "S").source:match("^@(.*)/")
  local gate = assert(io.open(here .. "/gate"))
  gate:read("*a")
  gate:close()
  -- The two arguments that loaded this file.
  local first = 0
  while arg[first - 1] do first = first - 1 end
  arg[first], arg[first + 1], arg[first + 2] = nil, nil, arg[first]
end
collectgarbage()
