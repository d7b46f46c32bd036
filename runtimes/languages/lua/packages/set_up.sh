if ! "$LUA" -e 'require("luarocks.core.cfg")' 2>/dev/null; then
    for folder in /usr/share/lua/*/ /usr/local/share/lua/*/; do
        if [ -d "$folder/luarocks" ]; then LUA_PATH="$folder?.lua;$folder?/init.lua;;"; fi
    done
    export LUA_PATH
fi
