//! Structures of pages of the web: headings, links, code and tables stay, text of scripts does not.

use url::Url;

use super::render;

/// Ways in which sites wrap their content.
const FRAMES: [(&str, &str); 5] = [
    ("<!doctype html><html><head><title>T</title></head><body>", "</body></html>"),
    ("<html><body><nav><a href=/n>nav</a></nav><main>", "</main><footer>foot</footer></body></html>"),
    ("<body><div class=wrap><header>head</header><article>", "</article><aside>side</aside></div>"),
    ("<table width=100%><tr><td>", "</table>"),
    ("<div><div><div><section role=main>", ""),
];

/// Scripts and what else nobody reads, at different places.
const NOISE: [&str; 4] = [
    "<script>var secret = '<p>script text</p>';</script>",
    "<script type=application/ld+json>{\"a\":\"script text\"}</script>\
     <style>.x{content:'script text'}</style>",
    "<template><p>script text</p></template><div hidden>script text</div>",
    "<svg><text>script text</text></svg><!-- script text --><div style=\"display: none\">script text</div>",
];

/// Content in the shapes of news, documentation, tables, forums and lists.
const CONTENT: [(&str, &[&str]); 5] = [
    (
        "<h1>News</h1><p>By <a href=\"/by/anna\">Anna</a>, today.\
         <p>Second <b>part</b>.</p><h2>More</h2><p>End.",
        &["# News\n", "[Anna](https://site.example/by/anna)", "\nSecond part.", "\n## More\n"],
    ),
    (
        "<h2 id=x>Use <code>open()</code></h2><pre>\
         <code class=language-rust>fn main() {\n    run();\n}\n</code></pre>\
         <p>See <a href=api#run><code>run</code></a>.",
        &[
            "## Use `open()`",
            "```rust\nfn main() {\n    run();\n}\n```",
            "[`run`](https://site.example/a/api#run)",
        ],
    ),
    (
        "<h3>Prices</h3><table><thead><tr><th>Name<th>Price</thead><tbody>\
         <tr><td>A|B<td>1</tr><tr><td>C</tbody></table>\
         <a href=https://x.example>x</a><code>c</code>",
        &[
            "### Prices",
            "| Name | Price |\n| --- | --- |\n| A\\|B | 1 |\n| C |  |",
            "[x](https://x.example/)",
            "`c`",
        ],
    ),
    (
        "<h1>Thread</h1><div class=post><blockquote><p>quoted</blockquote><p>answer <code>x</code></div>\
         <div class=post><a href=//other.example/u>user</a><p>next",
        &["# Thread", "> quoted", "answer `x`", "[user](https://other.example/u)"],
    ),
    (
        "<h2>List</h2><ol><li>one<li>two<ul><li><a href=?p=2>inner</a></ul><li>three</ol>\
         <dl><dt>term<dd>meaning</dl>",
        &["## List", "1. one\n2. two\n   - [inner](https://site.example/a/b?p=2)\n3. three", "term\nmeaning"],
    ),
];

#[test]
fn a_hundred_structures_keep_what_they_say_and_no_text_of_scripts() {
    let base = Url::parse("https://site.example/a/b").unwrap();
    let mut tried = 0;
    for (before, after) in FRAMES {
        for noise in NOISE {
            for (content, expected) in CONTENT {
                let page = format!("{before}{noise}{content}{noise}{after}");
                let text = render(&page, &base, true).text;
                for part in expected {
                    // In a cell of a layout, lines do not begin at the page's margin alone.
                    assert!(
                        text.contains(part.trim_start_matches('\n')),
                        "{part:?} of {page}\nis not in\n{text}"
                    );
                }
                assert!(!text.contains("script text"), "{page}\n{text}");
                assert!(!render(&page, &base, false).text.contains("script text"));
                tried += 1;
            }
        }
    }
    assert_eq!(tried, 100);
}

#[test]
fn depth_and_broken_nesting_cost_nothing() {
    let base = Url::parse("https://site.example/").unwrap();
    for page in ["<div>".repeat(200_000), "<table><tr><td>".repeat(20_000), "<ul><li>".repeat(50_000)] {
        let text = render(&format!("{page}deep"), &base, true).text;
        assert!(text.contains("deep"));
    }
}
