//! A picture of a page, by Chromium without a window.

use std::path::{Path, PathBuf};
use std::process::Command;

const WIDTH: u32 = 390;
/// Higher than any page.
const MOST_HEIGHT: u32 = 4000;

/// Takes a picture of the page, as high as it is, and returns its path; or why there is none.
pub(crate) fn take(browser: &str, page: &Path) -> Result<PathBuf, String> {
    let picture = page.with_extension("png");
    let height = height_of(browser, page)?;
    let target = format!("--screenshot={}", picture.display());
    run(browser, page, height, &[&target])?;
    if picture.exists() { Ok(picture) } else { Err("no picture".to_owned()) }
}

/// A frame of the phone's width has the page, and says how high it is.
fn height_of(browser: &str, page: &Path) -> Result<u32, String> {
    let html = std::fs::read_to_string(page).map_err(|error| error.to_string())?;
    let measuring = "<script>const {body} = document;
        body.dataset.height = Math.ceil(body.getBoundingClientRect().height)</script></body>";
    let copy = page.with_extension("measured.html");
    std::fs::write(&copy, html.replace("</body>", measuring)).map_err(|error| error.to_string())?;
    let dumped = run(browser, &copy, MOST_HEIGHT, &["--dump-dom"]);
    let _ = std::fs::remove_file(&copy);
    let dumped = dumped?;
    let (_, rest) = dumped.split_once("data-height=\"").ok_or("the browser says no height")?;
    rest.split_once('"').and_then(|(height, _)| height.parse().ok()).ok_or("no height".to_owned())
}

fn run(browser: &str, page: &Path, height: u32, options: &[&str]) -> Result<String, String> {
    let url = format!("file://{}", page.canonicalize().map_err(|error| error.to_string())?.display());
    let size = format!("--window-size={WIDTH},{height}");
    let ran = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", &size])
        .args(options)
        .arg(url)
        .output()
        .map_err(|error| format!("{browser}: {error}"))?;
    Ok(String::from_utf8_lossy(&ran.stdout).into_owned())
}
