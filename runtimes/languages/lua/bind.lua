
FILE_CONTENT_PATH = os.getenv("FILE_CONTENT_PATH")
do
  local forms = {
    "^[%z\1-\127]+()", "^[\194-\223][\128-\191]()", "^\224[\160-\191][\128-\191]()",
    "^[\225-\236\238\239][\128-\191][\128-\191]()", "^\237[\128-\159][\128-\191]()",
    "^\240[\144-\191][\128-\191][\128-\191]()",
    "^[\241-\243][\128-\191][\128-\191][\128-\191]()",
    "^\244[\128-\143][\128-\191][\128-\191]()",
  }
  local function find_invalid(text, at)
    if utf8 then
      local _, invalid = utf8.len(text, at)
      return invalid
    end
    while at <= #text do
      local after
      for _, form in ipairs(forms) do
        after = after or text:match(form, at)
      end
      if not after then return at end
      at = after
    end
  end
  local file = assert(io.open(FILE_CONTENT_PATH, "rb"))
  local content = file:read("*a")
  file:close()
  local invalid = find_invalid(content, 1)
  if invalid then
    local parts, from = {}, 1
    while invalid do
      parts[#parts + 1] = content:sub(from, invalid - 1)
      parts[#parts + 1] = "\239\191\189"
      from = invalid + 1
      invalid = find_invalid(content, from)
    end
    parts[#parts + 1] = content:sub(from)
    content = table.concat(parts)
  end
  FILE_CONTENT = content
end
