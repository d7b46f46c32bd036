-- Lua interpreter for a user: runs one program after the other, and shows their values as
-- Lua's own console does.
--
-- A request comes on descriptor 3: a line with a token and the sizes of the fields after it
-- (folder, bound file, name, code, arguments). The answer goes to descriptor 4: the token and an
-- exit code. Lua's own program makes an error of the first SIGINT, and dies of the second.
local requests = assert(io.open("/proc/self/fd/3", "rb"))
local answers = assert(io.open("/proc/self/fd/4", "wb"))
local compile = loadstring or load
local unpack = table.unpack or unpack
io.stdout:setvbuf("line")

local function bind(path)
  local file = assert(io.open(path, "rb"))
  FILE_CONTENT, FILE_CONTENT_PATH = file:read("*a"), path
  file:close()
end

local function complain(message)
  if type(message) ~= "string" then message = tostring(message) end
  return (debug.traceback(message, 2):gsub("\n\t%[C%]: in function 'xpcall'.*", ""))
end

local function show(succeeded, ...)
  if not succeeded then
    io.stderr:write((...), "\n")
    -- Lua puts the place of a called function before it.
    return (...):match("^[^\n]*"):find("interrupted!$") and 130 or 1
  end
  if select("#", ...) > 0 then print(...) end
  return 0
end

local function run(folder, bound, name, code, ...)
  if bound ~= "" then bind(bound) end
  arg = { [0] = name, ... }
  local program = compile("return " .. code, "=" .. name)
  if not program then
    local message
    program, message = compile(code, "=" .. name)
    if not program then return show(false, message) end
  end
  return show(xpcall(program, complain))
end

for header in requests:lines() do
  local fields, token = {}, header:match("%x+")
  for size in header:sub(#token + 1):gmatch("%d+") do
    fields[#fields + 1] = size == "0" and "" or requests:read(tonumber(size))
  end
  local status = run(unpack(fields))
  io.stdout:flush()
  answers:write(token, " ", status, "\n")
  answers:flush()
end
