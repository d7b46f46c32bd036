let word = "rust";
println!("hello from {}", word);
