// How many different words are there?
use std::collections::HashSet;

fn main() {
    let content = std::fs::read("corpus.txt").expect("corpus.txt");
    let is_letter = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_';
    let words: HashSet<&[u8]> = content
        .split(|byte| !is_letter(byte))
        .filter(|word| !word.is_empty())
        .collect();
    println!("{}", words.len());
}
