cat > "$TMPDIR/config.lua" <<END
rocks_trees = { "$OUT" }
rocks_servers = {}
lua_modules_path = "/lua"
lib_modules_path = "/c"
END
export LUAROCKS_CONFIG="$TMPDIR/config.lua"
export LUA_PATH="$OUT/lua/?.lua;$OUT/lua/?/init.lua;${LUA_PATH:-;;}" LUA_CPATH="$OUT/c/?.so;;"
version="$("$LUA" -e 'print(_VERSION:match("[%d.]+"))')"
# A LuaRocks before 3.9 requires headers though nothing is compiled.
mkdir "$TMPDIR/include"
cat > "$TMPDIR/include/lua.h" <<END
#define LUA_VERSION_NUM ${version%.*}0${version#*.}
#error "Lua's headers are missing here"
END
install() {
    "$LUA" "$LUAROCKS" --lua-version "$version" --tree "$OUT" install --deps-mode none "$@" \
        </dev/null >"$TMPDIR/said" 2>&1
}
while read -r name rock form _; do
    rock="$AT/fetched/$name-$rock.$form.rock"
    if ! install "$rock"; then
        if ! grep -q "Lua header" "$TMPDIR/said" ||
            ! install "$rock" LUA_INCDIR="$TMPDIR/include"; then
            cat "$TMPDIR/said" >&2; exit 1
        fi
    fi
done < "$AT/rocks.lock"
