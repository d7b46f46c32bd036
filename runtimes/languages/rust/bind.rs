use std::sync::Once;

pub struct Text(fn() -> String, fn() -> &'static mut Option<String>, Once);

macro_rules! text {
    ($read:expr) => {
        Text(
            $read,
            || {
                static mut HELD: Option<String> = None;
                unsafe { &mut *std::ptr::addr_of_mut!(HELD) }
            },
            Once::new(),
        )
    };
}

impl Text {
    pub fn get(&'static self) -> &'static str {
        self.2.call_once(|| *(self.1)() = Some((self.0)()));
        (self.1)().as_deref().unwrap()
    }
}

impl std::ops::Deref for Text {
    type Target = str;
    fn deref(&self) -> &str {
        self.2.call_once(|| *(self.1)() = Some((self.0)()));
        (self.1)().as_deref().unwrap()
    }
}

impl std::fmt::Display for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.pad(self)
    }
}

impl std::fmt::Debug for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        std::fmt::Debug::fmt(&**self, f)
    }
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        self
    }
}

impl AsRef<std::path::Path> for Text {
    fn as_ref(&self) -> &std::path::Path {
        std::path::Path::new(&**self)
    }
}

fn path() -> String {
    std::env::var("FILE_CONTENT_PATH").expect("FILE_CONTENT_PATH is set")
}

fn content() -> String {
    let octets = std::fs::read(path()).expect("FILE_CONTENT_PATH can be read");
    String::from_utf8_lossy(&octets).into_owned()
}

pub static FILE_CONTENT_PATH: Text = text!(path);
pub static FILE_CONTENT: Text = text!(content);
pub use FILE_CONTENT as file_content;
pub use FILE_CONTENT_PATH as file_content_path;
