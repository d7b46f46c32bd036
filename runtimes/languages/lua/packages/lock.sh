mkdir "$TMPDIR/work"; cd "$TMPDIR/work"
cat > lock.lua <<'END'
local unpack = table.unpack or unpack
local function fail(why) io.stderr:write(why, "\n"); os.exit(1) end
if loadstring then  -- that of Lua 5.1 would take what is compiled, which nothing confines
  local load_text = loadstring
  loadstring = function(text, name)
    if text:byte() == 27 then return nil, "it is compiled" end
    return load_text(text, name)
  end
end
local cfg, fs = require("luarocks.core.cfg"), require("luarocks.fs")
assert(cfg.init({ lua_version = _VERSION:match("[%d.]+") }))
fs.init()
local persist, vers = require("luarocks.persist"), require("luarocks.core.vers")
local queries, fetch = require("luarocks.queries"), require("luarocks.fetch")
local util = require("luarocks.util")

-- The result of a reader for an untrusted file; an endless one is stopped.
local function bounded(reader, ...)
  debug.sethook(function() fail("it is more than data: it does not end") end, "", 1e8)
  local results = { pcall(reader, ...) }
  debug.sethook()
  return unpack(results, 1, 4)
end
local function get(path, to)
  local url = os.getenv("REGISTRY") .. "/" .. path
  local status = os.execute(("sh ../get '%s' '%s' 2>said"):format(url, to))
  return status == true or status == 0
end
local function read(path)
  local file = io.open(path, "rb")
  if not file then return "" end
  local text = file:read("*a")
  file:close()
  return text
end
local function load_index()
  local name = "manifest-" .. cfg.lua_version
  if get(name .. ".zip", "index.zip") then
    os.execute("unzip -p index.zip > index")
  elseif not (get(name, "index") or get("manifest", "index")) then
    fail("the registry has no index: " .. read("said"))
  end
  local loaded, index, why = bounded(persist.load_into_table, "index")
  if not loaded or not index then fail("not an index: " .. tostring(why or index)) end
  return index.repository or {}
end

local index, provided = load_index(), util.get_rocks_provided()
local asked, chosen, order, are_exact = {}, {}, {}, false

-- The form of a release that is for every machine; nil if it has none.
local function form_of(items)
  local forms = {}
  for _, item in ipairs(items) do forms[item.arch] = true end
  return forms.src and "src" or forms.all and "all" or nil
end
local function pick(name)
  local best
  for version, items in pairs(index[name] or fail("no such rock: " .. name)) do
    local parsed = vers.parse_version(version)
    local fits = form_of(items) and vers.match_constraints(parsed, asked[name])
    if fits and (not best or parsed > best.parsed) then
      best = { parsed = parsed, version = version, form = form_of(items) }
    end
  end
  return best or fail("no fitting version of this rock: " .. name)
end
local function download(name, one)
  local stem = name .. "-" .. one.version
  local rock = ("%s.%s.rock"):format(stem, one.form)
  if not stem:match("^%w[%w._-]*$") then fail("a name that leads out of its folder: " .. stem) end
  if not get(rock, rock) then fail("not downloaded: " .. rock .. ": " .. read("said")) end
  os.execute(("sha256sum '%s' > digest"):format(rock))
  one.digest = read("digest"):match("^%x+")
  os.execute(("unzip -p '%s' '%s.rockspec' > '%s.rockspec'"):format(rock, stem, stem))
  local loaded, spec, why = bounded(fetch.load_local_rockspec, stem .. ".rockspec", true)
  if not loaded or not spec then fail("not a rockspec of data alone: " .. tostring(why or spec)) end
  one.needs = {}
  for _, kind in ipairs({ "dependencies", "build_dependencies" }) do
    local list = spec[kind] or {}
    for _, query in ipairs(list.queries or list) do one.needs[#one.needs + 1] = query end
  end
end
local function add(query)
  local name = query.name:lower()
  if provided[name] then
    if not vers.match_constraints(vers.parse_version(provided[name]), query.constraints) then
      fail(("no fitting version: %s is wanted of this Lua's own %s"):format(
        tostring(query), provided[name]))
    end
    return
  end
  asked[name] = asked[name] or {}
  for _, constraint in ipairs(query.constraints) do table.insert(asked[name], constraint) end
  local best = pick(name)
  if chosen[name] and chosen[name].version == best.version then return end
  chosen[name] = best
  download(name, best)
  if are_exact then return end
  for _, need in ipairs(best.needs) do add(need) end
end
local function put(name)  -- what others need comes before them
  local one = chosen[name]
  if not one or one.is_put then return end
  one.is_put = true
  for _, need in ipairs(one.needs) do put(need.name:lower()) end
  order[#order + 1] = ("%s %s %s %s\n"):format(name, one.version, one.form, one.digest)
end

local wanted = os.getenv("IN") .. "/wanted"
local loaded, ok, lock = bounded(persist.run_file, wanted, {})
if loaded and ok and type(lock) == "table" then
  are_exact = true
  for _, kind in ipairs({ "dependencies", "build_dependencies" }) do
    for name, version in util.sortedpairs(type(lock[kind]) == "table" and lock[kind] or {}) do
      if name ~= "lua" then add(queries.new(tostring(name), nil, tostring(version))) end
    end
  end
else
  for line in io.lines(wanted) do
    if line ~= "" then add(queries.from_dep_string(line) or fail("not understood: " .. line)) end
  end
end
for name in util.sortedpairs(chosen) do put(name) end
local out = assert(io.open(os.getenv("OUT") .. "/rocks.lock", "w"))
out:write(table.concat(order))
out:close()
END
"$LUA" lock.lua
