//! Documents in Markdown of every shape, and whether Telegram takes what they become and people read what
//! was written. A document is made together with its plain text, so nothing is read back from the Markdown.

use channel::formatting::{self, FormattedText};
use harness::Random;
use harness::fake_telegram::entities;
use serde_json::{Value, json};

use super::split;

/// Words, and how they are written where Markdown would mean something by them.
const WORDS: [(&str, &str); 20] = [
    ("word", "word"),
    ("Grüße", "Grüße"),
    ("שלום", "שלום"),
    ("مرحبا", "مرحبا"),
    ("日本語", "日本語"),
    ("👩‍👩‍👧‍👦", "👩‍👩‍👧‍👦"),
    ("🇩🇪", "🇩🇪"),
    ("😀", "😀"),
    ("e\u{301}a\u{308}", "e\u{301}a\u{308}"),
    ("snake_case_name", "snake_case_name"),
    ("*", "\\*"),
    ("_", "\\_"),
    ("#", "\\#"),
    ("1.", "1\\."),
    ("<b>", "&lt;b&gt;"),
    ("&amp;", "&amp;amp;"),
    ("a|b", "a\\|b"),
    ("`", "\\`"),
    ("[x]", "\\[x\\]"),
    ("~~", "\\~\\~"),
];

/// A part of a document: its lines in Markdown, and what a person reads, without blanks.
struct Part {
    lines: Vec<String>,
    read: String,
}

struct Author {
    random: Random,
}

impl Author {
    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.random.below(from.len())]
    }

    fn word(&mut self) -> (String, String) {
        let (read, written) = self.pick(&WORDS);
        (written.to_owned(), read.to_owned())
    }

    /// Some words in styles that are not around them yet: bold, italic, struck, a link, underlined, hidden.
    fn phrase(&mut self, styles: &mut Vec<usize>) -> (String, String) {
        let (mut written, mut read) = (Vec::new(), String::new());
        for _ in 0..=self.random.below(4) {
            let style = self.random.below(14);
            let (a, b) = match style {
                0..6 if !styles.contains(&style) && styles.len() < 4 => {
                    styles.push(style);
                    let (inner, inner_read) = self.phrase(styles);
                    styles.pop();
                    self.styled(style, &inner, inner_read)
                }
                6 => self.code(),
                7 => ("![a picture](pictures/a.png)".to_owned(), "apicture(pictures/a.png)".to_owned()),
                8 if !styles.contains(&3) => {
                    ("<https://auto.example/a_b>".to_owned(), "https://auto.example/a_b".to_owned())
                }
                _ => self.word(),
            };
            written.push(a);
            read.push_str(&b);
        }
        (written.join(" "), read)
    }

    fn styled(&mut self, style: usize, inner: &str, read: String) -> (String, String) {
        match style {
            0 => (format!("**{inner}**"), read),
            1 => (format!("_{inner}_"), read),
            2 => (format!("~~{inner}~~"), read),
            3 => match self.pick(&["https://example.org/?q=1&r=(2)", "src/main.rs", "tg://user?id=7"]) {
                url if url.starts_with("https") => (format!("[{inner}](<{url}> \"title\")"), read),
                other => (format!("[{inner}]({other})"), format!("{read}({other})")),
            },
            4 => (format!("<u>{inner}</u>"), read),
            _ => (format!("<tg-spoiler>{inner}</tg-spoiler>"), read),
        }
    }

    fn code(&mut self) -> (String, String) {
        let code = self.pick(&["let a = **b**;", "_x_", "<i>", "😀 *", "a | b", "\\"]);
        // A bar would end a cell, escaped or not.
        (format!("``{}``", code.replace('|', "/")), code.replace('|', "/").replace(' ', ""))
    }

    fn paragraph(&mut self) -> Part {
        let (mut lines, mut read) = (Vec::new(), String::new());
        let count = self.random.below(3) + 1;
        for number in 0..count {
            let (written, line) = self.phrase(&mut Vec::new());
            let end = if number + 1 < count { self.pick(&["", "\\", "<br>"]) } else { "" };
            lines.push(format!("{written}{end}"));
            read.push_str(&line);
        }
        Part { lines, read }
    }

    fn fence(&mut self) -> Part {
        let info = self.pick(&["", "rust", "c++ {.numbers}", "sh,ignore", "<script>"]);
        let count = self.random.below(12) + 1;
        let code = ["fn main() {", "    let x = \"*_`<&\";", "```", "", "\tmake 😀", "}", "مرحبا"];
        let mut lines: Vec<String> = (0..count).map(|_| self.pick(&code).to_owned()).collect();
        let read = lines.concat();
        lines.insert(0, format!("~~~~{info}"));
        lines.push("~~~~".to_owned());
        Part { lines, read }
    }

    /// A word with which four columns fit on a phone.
    fn short_word(&mut self) -> (String, String) {
        loop {
            let word = self.word();
            if word.1.len() < 15 || !word.1.is_ascii() {
                return word;
            }
        }
    }

    fn table(&mut self) -> Part {
        let columns = self.random.below(4) + 1;
        let (mut rows, mut written) = (Vec::new(), Vec::new());
        for _ in 0..self.random.below(5) + 1 {
            let cells: Vec<(String, String)> = (0..columns).map(|_| self.short_word()).collect();
            let bars = |cell: &(String, String)| cell.0.clone();
            written.push(format!("| {} |", cells.iter().map(bars).collect::<Vec<_>>().join(" | ")));
            rows.push(cells.into_iter().map(|cell| cell.1).collect::<Vec<_>>().join("│"));
        }
        let marks: Vec<&str> = (0..columns).map(|_| self.pick(&["---", ":--", "--:", ":-:"])).collect();
        written.insert(1, format!("|{}|", marks.join("|")));
        // The line below the head has a length of its own.
        rows.insert(1, "─".to_owned());
        Part { lines: written, read: rows.concat() }
    }

    fn list(&mut self, depth: usize) -> Part {
        let (mut lines, mut read) = (Vec::new(), String::new());
        let first = if self.random.below(2) == 0 { None } else { Some(self.random.below(120)) };
        let is_loose = self.random.below(2) == 0;
        for number in 0..=self.random.below(4) {
            let (marker, shown) = match first {
                Some(first) => (format!("{}. ", first + number), format!("{}.", first + number)),
                None => ("- ".to_owned(), "•".to_owned()),
            };
            let mut item = self.paragraph();
            if self.random.below(5) == 0 {
                item.lines[0].insert_str(0, "[x] ");
                read.push_str(if first.is_some() { &shown } else { "" });
                read.push('☑');
            } else {
                read.push_str(&shown);
            }
            read.push_str(&item.read);
            if depth > 0 && self.random.below(3) == 0 {
                let inner = self.block(depth - 1);
                item.lines.push(String::new());
                item.lines.extend(inner.lines);
                read.push_str(&inner.read);
            }
            let blanks = " ".repeat(marker.len());
            for (at, line) in item.lines.into_iter().enumerate() {
                lines.push(if at == 0 { format!("{marker}{line}") } else { format!("{blanks}{line}") });
            }
            if is_loose {
                lines.push(String::new());
            }
        }
        Part { lines, read }
    }

    fn quote(&mut self, depth: usize) -> Part {
        let is_alert = self.random.below(4) == 0;
        let (mut lines, mut read, mut parts) = (Vec::new(), String::new(), Vec::new());
        if is_alert && depth > 1 {
            lines.push("> [!WARNING]".to_owned());
            read.push_str("Warning");
            parts.push(self.paragraph());
        }
        for _ in 0..=self.random.below(3) {
            // Two lists in a row would be one.
            parts.extend([self.block(depth.saturating_sub(1)), self.paragraph()]);
        }
        for part in parts {
            lines.extend(part.lines.iter().map(|line| format!("> {line}")));
            lines.push(">".to_owned());
            read.push_str(&part.read);
        }
        Part { lines, read }
    }

    fn block(&mut self, depth: usize) -> Part {
        match self.random.below(if depth == 0 { 8 } else { 11 }) {
            0 => {
                let (written, read) = self.phrase(&mut vec![0]);
                Part { lines: vec![format!("{} {written}", self.pick(&["#", "##", "######"]))], read }
            }
            1 => self.fence(),
            2 => self.table(),
            3 => Part { lines: vec!["***".to_owned()], read: "———".to_owned() },
            4 => Part {
                lines: ["<div>", "  *as written*", "</div>"].map(str::to_owned).into(),
                read: "<div>*aswritten*</div>".to_owned(),
            },
            5..8 => self.paragraph(),
            8 | 9 => self.list(depth),
            _ => self.quote(depth),
        }
    }

    /// A document of at least so many characters, and what a person reads of it.
    fn document(&mut self, characters: usize) -> (String, String) {
        let (mut written, mut read) = (String::new(), String::new());
        while written.chars().count() < characters {
            // Two lists in a row would be one.
            for part in [self.block(3), self.paragraph()] {
                written.push_str(&part.lines.join("\n"));
                written.push_str("\n\n");
                read.push_str(&part.read);
            }
        }
        (written, read)
    }
}

fn without_blanks(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

/// What a person reads, but for the lines below the heads of tables, whose length depends on their columns.
fn comparable(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && !matches!(c, '─' | '┼')).collect()
}

fn messages(markdown: &str) -> Vec<FormattedText> {
    split::divide(&formatting::render(markdown), split::MAX_UNITS)
}

fn check(messages: &[FormattedText], document: &str) {
    for FormattedText { text, entities } in messages {
        if let Err(why) = entities::check(text, &json!(entities)) {
            panic!("{why}\n--- of\n{document}\n--- became\n{text}\n{}", json!(entities));
        }
    }
}

#[test]
fn telegram_takes_every_document_and_people_read_what_was_written() {
    let mut author = Author { random: Random::new(7) };
    let (mut styles, mut most_parts, mut folded) = (std::collections::BTreeSet::new(), 0, 0);
    for number in 0..360 {
        let characters = if number % 12 == 0 { 20_000 } else { 20 + number * 5 };
        let (document, read) = author.document(characters);
        let messages = messages(&document);
        check(&messages, &document);
        let shown: String = messages.iter().map(|message| message.text.as_str()).collect();
        assert_eq!(comparable(&shown), comparable(&read), "{document}");
        let all = messages.iter().flat_map(|message| &message.entities);
        let kinds = all.map(|entity| json!(entity)["type"].as_str().unwrap().to_owned());
        folded += kinds.clone().filter(|kind| kind == "expandable_blockquote").count();
        styles.extend(kinds);
        most_parts = most_parts.max(messages.len());
    }
    let expected = [
        "blockquote", "bold", "code", "expandable_blockquote", "italic", "pre", "spoiler", "strikethrough",
        "text_link", "underline",
    ];
    assert!(styles.iter().eq(&expected), "{styles:?}");
    assert!(most_parts >= 5 && folded > 0, "{most_parts} parts, {folded} folded quotes");
}

#[test]
fn markdown_that_is_broken_deep_or_endless_is_still_a_message_and_takes_no_time() {
    let many = |text: &str| text.repeat(20_000);
    for (document, must_show) in [
        ("one *unbalanced _ star and ~~ tilde", "one *unbalanced _ star and ~~ tilde"),
        ("a [link](that never ends", "a [link](that never ends"),
        ("```rust\nnever closed", "never closed"),
        ("Option<i> and Vec<b> without backticks", "Option<i> and Vec<b>"),
        ("<b>*crossing</b> tags*", "crossing"),
        ("\u{202e}overridden\u{2028}\u{0}", "overridden"),
        ("[x]: https://example.org", "[x]: https://example.org"),
        ("``` \n```", "```"),
        (&many("*"), "———"),
        (&format!("a {}", many("*")), "*"),
        (&format!("{}end", many("> ")), "end"),
        (&format!("{}end", many("- ")), "end"),
        (&format!("{}end", many("[")), "end"),
        (&format!("{}end", many("<b>")), "end"),
        (&format!("{}end{}", many("<b>"), many("</b>")), "end"),
        (&format!("{}end{}", many("**a "), many("**")), "end"),
        (&many("`a` "), "a"),
        (&many("[a](https://example.org) "), "a"),
        (&many("**a** _b_ "), "a b"),
        (&many("e\u{301}"), "e\u{301}"),
        (&many("\u{301}"), "\u{301}"),
        (&many("👩‍👩‍👧‍👦"), "👩‍👩‍👧‍👦"),
        (&many("|a"), "a"),
        (&format!("|a|\n|-|\n{}", many("|b|\n")), "b"),
        (&format!("```\n{}```", many("        indented\n")), "indented"),
    ] {
        let begun = std::time::Instant::now();
        let messages = messages(document);
        let beginning: String = document.chars().take(60).collect();
        check(&messages, &beginning);
        let shown: String = messages.iter().map(|message| message.text.as_str()).collect();
        assert!(shown.contains(must_show), "{beginning}: {}", &shown[..shown.len().min(200)]);
        assert!(begun.elapsed().as_secs() < 20, "{beginning}: {:?}", begun.elapsed());
    }
}

#[test]
fn no_character_that_people_see_as_one_is_divided() {
    for character in ["👩‍👩‍👧‍👦", "🇩🇪", "e\u{301}\u{302}", "नि"] {
        for before in 0..12 {
            let document = format!("{}{}", "x".repeat(before), character.repeat(3000));
            for message in messages(&document) {
                let rest = message.text.trim_start_matches('x').replace(character, "");
                assert_eq!(rest, "", "{character} after {before}");
            }
        }
    }
}

/// The entities of a text as `style(words)`.
fn styles(message: &FormattedText) -> Vec<String> {
    let units: Vec<u16> = message.text.encode_utf16().collect();
    let entities = json!(message.entities);
    let told = |entity: &Value| {
        let number = |name: &str| usize::try_from(entity[name].as_u64().unwrap()).unwrap();
        let words = String::from_utf16(&units[number("offset")..][..number("length")]).unwrap();
        let more = ["language", "url"].iter().filter_map(|name| entity[name].as_str());
        let more: String = more.map(|more| format!(":{more}")).collect();
        format!("{}{more}({words})", entity["type"].as_str().unwrap())
    };
    entities.as_array().unwrap().iter().map(told).collect()
}

#[test]
fn each_construct_of_markdown_becomes_what_telegram_has_for_it() {
    for (markdown, text, expected) in [
        ("**a** _b_ ~~c~~ `d`", "a b c d", vec!["bold(a)", "italic(b)", "strikethrough(c)", "code(d)"]),
        ("**a `b` c**", "a b c", vec!["bold(a)", "code(b)", "bold(c)"]),
        ("😀 *x*", "😀 x", vec!["italic(x)"]),
        ("# A `b`\ntext", "A b\n\ntext", vec!["bold(A)", "code(b)"]),
        ("```rust,ignore\nlet a;\n```\nx", "let a;\n\nx", vec!["pre:rust(let a;)"]),
        ("[a **b**](https://e.org/x)", "a b", vec!["text_link:https://e.org/x(a b)", "bold(b)"]),
        ("[a](tg://user?id=1)", "a (tg://user?id=1)", vec![]),
        ("[#1](#one) <a@b.de>", "#1 a@b.de", vec![]),
        ("![](https://e.org/x)", "https://e.org/x", vec![]),
        ("[![alt](a.png)](https://e.org/)", "alt (a.png)", vec!["text_link:https://e.org/(alt (a.png))"]),
        ("> a\n> > b", "a\n\nb", vec!["blockquote(a\n\nb)"]),
        ("> [!TIP]\n> a", "Tip\n\na", vec!["blockquote(Tip\n\na)", "bold(Tip)"]),
        ("- a\n  1. b\n  2. c\n- **d**", "• a\n  1. b\n  2. c\n• d", vec!["bold(d)"]),
        ("- a\n\n  b\n\n- c", "• a\n\n  b\n\n• c", vec![]),
        ("- [ ] a\n- [x] b\n\n1. [x] c", "☐ a\n☑ b\n\n1. ☑ c", vec![]),
        ("1. `a`:\n   ```sh\n   b\n   ```", "1. a:\n\nb", vec!["code(a)", "pre:sh(b)"]),
        ("a\n\n---\n\nb", "a\n\n———\n\nb", vec![]),
        ("a<br>b<br><br>c", "a\nb\n\nc", vec![]),
        ("<u>a</u> <kbd>b</kbd> <s>c", "a <kbd>b</kbd> <s>c", vec!["underline(a)"]),
        ("<TG-SPOILER>a **b**</TG-SPOILER>", "a b", vec!["spoiler(a b)", "bold(b)"]),
        ("**yes**/**no**, and/**or**", "yes/no, and/or", vec!["bold(yes)", "bold(no)", "bold(or)"]),
        ("**In src/a.rs** *(see b)*.", "In src/a.rs (see b).", vec!["bold(In src/a.rs)", "italic((see b))"]),
        ("**https://e.org/__a__**", "https://e.org/__a__", vec!["bold(https://e.org/__a__)"]),
        ("~~5~10 km~~", "5~10 km", vec!["strikethrough(5~10 km)"]),
    ] {
        let [message] = messages(markdown).try_into().unwrap();
        assert_eq!(message.text, text, "{markdown}");
        assert_eq!(styles(&message), expected, "{markdown}");
    }
}

#[test]
fn addresses_paths_and_names_arrive_as_they_were_written() {
    for text in [
        "https://github.com/psf/requests/blob/main/src/requests/__init__.py",
        "see https://e.org/__a__/*b*/~~c~~?q=*a*b*&r=__d__ and (https://e.org/_x_y_).",
        "src/__tests__/ and ./a/_b_/c, ~/.config/__x__/y",
        "?q=*a*b*",
        "snake_case_names, _private_name, __init__.py, __main__.py: __pycache__/x",
        "src/*.rs, tests/*.rs",
        "look in src/**/*.rs and lib/**/*.rs",
        "2*3*4, 5~10 minutes or 20~30 rows",
        "$HOME/_a_/b",
    ] {
        let [message] = messages(text).try_into().unwrap();
        assert_eq!((message.text.as_str(), styles(&message)), (text, vec![]));
    }
}

#[test]
fn a_table_that_is_wider_than_a_phone_is_a_list() {
    let table = "|File|What it is for|Size|\n|-|-|-:|\n|`src/main.rs`|reads the arguments and starts|120|\n\
                 |**src/lib.rs**||[4](https://e.org/)|";
    let [message] = messages(table).try_into().unwrap();
    assert_eq!(
        message.text,
        "• src/main.rs\n  What it is for: reads the arguments and starts\n  Size: 120\n\
         • src/lib.rs\n  Size: 4 (https://e.org/)"
    );
    assert_eq!(styles(&message), ["bold(src/main.rs)", "bold(src/lib.rs)"]);
}

#[test]
fn a_table_is_aligned_code_with_the_targets_of_its_links() {
    let [message] = messages("|n|size|\n|-|-:|\n|`日`|1|\n|**b**|[20](https://e.org/)|").try_into().unwrap();
    let lines: Vec<&str> = message.text.lines().collect();
    let target = "20 (https://e.org/)";
    assert_eq!(lines[0], format!("n  │ {:>1$}", "size", target.len()));
    assert_eq!(lines[1], format!("───┼─{}", "─".repeat(target.len())));
    assert_eq!(lines[2], format!("日 │ {:>1$}", "1", target.len()));
    assert_eq!(lines[3], format!("b  │ {target}"));
    assert_eq!(styles(&message), [format!("pre({})", message.text)]);
}

#[test]
fn code_that_fits_into_a_message_is_not_divided_and_longer_code_goes_on_as_code() {
    let code = "    indented\nline of code\n".repeat(40);
    let document = format!("{}\n\n```rust\n{code}```\n\nend", "word ".repeat(700));
    let [first, second] = messages(&document).try_into().unwrap();
    assert!(first.entities.is_empty() && first.text.ends_with("word"), "{}", first.text);
    assert_eq!(second.text, format!("{}\n\nend", code.trim_end()));
    let long = format!("```rust\n{}```", code.repeat(9));
    let parts = messages(&long);
    assert!(parts.len() > 2);
    for part in &parts {
        assert_eq!(part.entities.len(), 1);
        assert!(styles(part)[0].starts_with("pre:rust("), "{:?}", styles(part));
    }
    // Telegram takes the blanks away that a message begins with.
    assert!(parts[1..].iter().all(|part| part.text.starts_with("line of code")));
    let whole: Vec<&str> = parts.iter().map(|part| part.text.as_str()).collect();
    assert_eq!(whole.join("\n"), code.repeat(9).trim_end());
}

#[test]
fn what_a_person_reads_is_the_same_however_it_is_divided() {
    let mut author = Author { random: Random::new(11) };
    let (document, _) = author.document(6000);
    let styled = formatting::render(&document);
    for max_units in [20, 64, 500, 4096] {
        let parts = split::divide(&styled, max_units);
        assert!(parts.iter().all(|part| part.text.encode_utf16().count() <= max_units));
        check(&parts, &document);
        let shown: String = parts.iter().map(|part| part.text.as_str()).collect();
        assert_eq!(without_blanks(&shown), without_blanks(&styled.text), "{max_units}");
    }
}
