export CARGO_HOME="$OUT/cargo"
