local word = "lua"
print("hello from " .. word)
