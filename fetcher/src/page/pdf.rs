//! The text of a PDF, in the order in which its pages say it.
//!
//! The parser is of the kind that gives up on what it does not know by panicking, or runs long. It runs on a
//! thread of the request's own process, which the tool server ends with its call.

use std::thread;

/// How much of a PDF is read: its table of contents is at its end, so a part of one is of no use. Papers and
/// manuals are rarely larger.
pub(super) const MOST_BYTES: u64 = 16 << 20;

/// Objects refer to each other, and the parser follows.
const STACK_BYTES: usize = 64 << 20;

pub(super) fn is_pdf(essence: &str, bytes: &[u8]) -> bool {
    essence == "application/pdf" || bytes.starts_with(b"%PDF-")
}

/// The pages' text, or in words why there is none.
pub(super) fn text(bytes: &[u8]) -> Result<String, &'static str> {
    const BROKEN: &str = "its text cannot be read";
    let parse = || pdf_extract::extract_text_from_mem_by_pages(bytes);
    let pages = thread::scope(|scope| {
        let parser = thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, parse);
        parser.ok()?.join().ok()?.ok()
    });
    let pages = pages.ok_or(BROKEN)?;
    let pages: Vec<String> = pages.iter().map(|page| tidy(page)).filter(|page| !page.is_empty()).collect();
    if pages.is_empty() { Err("it has no text, only pictures") } else { Ok(pages.join("\n\n") + "\n") }
}

/// Letters that fonts draw as one. A search for "files" must find them.
const LIGATURES: [(char, &str); 5] =
    [('\u{fb00}', "ff"), ('\u{fb01}', "fi"), ('\u{fb02}', "fl"), ('\u{fb03}', "ffi"), ('\u{fb04}', "ffl")];

/// Without blanks at the ends of lines, with one empty line at most between two others, and letter by letter.
fn tidy(page: &str) -> String {
    let page = LIGATURES.iter().fold(page.to_owned(), |page, (one, letters)| page.replace(*one, letters));
    let mut tidy = String::with_capacity(page.len());
    let mut is_gap = false;
    for line in page.lines().map(str::trim_end) {
        if line.is_empty() {
            is_gap = true;
            continue;
        }
        if !tidy.is_empty() {
            tidy.push_str(if is_gap { "\n\n" } else { "\n" });
        }
        tidy.push_str(line.trim_start_matches('\u{c}'));
        is_gap = false;
    }
    tidy
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A document with these lines, each a page of its own.
    fn pdf(pages: &[&str]) -> Vec<u8> {
        let mut objects = vec!["<< /Type /Catalog /Pages 2 0 R >>".to_owned(), String::new()];
        objects.push("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned());
        let mut kids = String::new();
        for page in pages {
            let content = format!("BT /F1 12 Tf 72 720 Td ({page}) Tj ET");
            objects.push(format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()));
            let number = objects.len();
            objects.push(format!(
                "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {number} 0 R \
                 /Resources << /Font << /F1 3 0 R >> >> >>"
            ));
            kids += &format!("{} 0 R ", objects.len());
        }
        objects[1] = format!("<< /Type /Pages /Kids [{kids}] /Count {} >>", pages.len());
        let mut file = String::from("%PDF-1.4\n");
        let mut table = String::from("0000000000 65535 f \n");
        for (index, object) in objects.iter().enumerate() {
            table += &format!("{:010} 00000 n \n", file.len());
            file += &format!("{} 0 obj\n{object}\nendobj\n", index + 1);
        }
        let (count, start) = (objects.len() + 1, file.len());
        file += &format!("xref\n0 {count}\n{table}trailer\n<< /Size {count} /Root 1 0 R >>\n");
        file += &format!("startxref\n{start}\n%%EOF\n");
        file.into_bytes()
    }

    #[test]
    fn the_text_of_each_page_is_found_in_order() {
        let text = text(&pdf(&["The first page", "And the second"])).unwrap();
        assert_eq!(text, "The first page\n\nAnd the second\n");
    }

    #[test]
    fn a_page_is_tidied() {
        assert_eq!(tidy("\u{c}my \u{fb01}les  \n\n\n\no\u{fb03}ce\n\n"), "my files\n\noffice");
    }

    #[test]
    fn what_is_empty_cut_or_no_pdf_is_said_to_be_and_nothing_panics() {
        let whole = pdf(&["The only page"]);
        assert_eq!(text(&pdf(&[""])), Err("it has no text, only pictures"));
        for length in (0..whole.len() - 8).step_by(7) {
            let _ = text(&whole[..length]);
        }
        assert!(text(&whole[..100]).is_err());
        assert!(text(b"%PDF-1.7 and nothing else").is_err());
        for at in (9..whole.len()).step_by(11) {
            let mut broken = whole.clone();
            broken[at] ^= 0x15;
            let _ = text(&broken);
        }
    }
}
