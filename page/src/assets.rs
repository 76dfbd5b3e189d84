//! The files beside the pages: a style, a script and an icon, all within the program.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// A file that pages refer to. Its address changes with its content, so that browsers may keep it.
#[derive(Debug)]
pub struct Asset {
    pub name: &'static str,
    pub media_type: &'static str,
    pub content: &'static str,
}

pub const STYLE: Asset = Asset {
    name: "page.css",
    media_type: "text/css; charset=utf-8",
    content: include_str!("../assets/page.css"),
};

pub const SCRIPT: Asset = Asset {
    name: "page.js",
    media_type: "text/javascript; charset=utf-8",
    content: include_str!("../assets/page.js"),
};

pub const ICON: Asset =
    Asset { name: "icon.svg", media_type: "image/svg+xml", content: include_str!("../assets/icon.svg") };

/// The file of this name.
pub fn named(name: &str) -> Option<&'static Asset> {
    [&STYLE, &SCRIPT, &ICON].into_iter().find(|asset| asset.name == name)
}

impl Asset {
    /// Where pages find it.
    pub fn address(&self) -> String {
        let mut hasher = DefaultHasher::new();
        self.content.hash(&mut hasher);
        format!("/assets/{}?v={:016x}", self.name, hasher.finish())
    }
}
