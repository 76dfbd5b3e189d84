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

/// Scripts and other invisible content, at different places.
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

/// Pages of which each piece would cost more the more there are before it, if anything were quadratic.
fn hostile_pages(times: usize) -> Vec<(&'static str, String)> {
    let attributes = (0..times).map(|number| format!(" a{number}=x")).collect::<String>();
    let links = (0..times / 8).map(|number| format!("<a href=p{number}>x</a>")).collect::<String>();
    let fences = (0..times / 400).map(|length| "`".repeat(length % 400) + "\n").collect::<String>();
    let base = format!("<base href='/{}/'>", "long/".repeat(390));
    let repeated = |piece: &str| piece.repeat(times);
    vec![
        ("attributes", format!("<p{attributes}>deep</p>")),
        ("one attribute again and again", format!("<p{}>deep", repeated(" class=x"))),
        ("an attribute without an end", format!("deep<p title='{}", repeated("x "))),
        ("an end tag's attributes", format!("deep</p{attributes}>")),
        ("nested tags", repeated("<div>") + "deep"),
        ("unclosed tags", repeated("<p><b><i>") + "deep"),
        ("formatting that crosses", repeated("<b><i></b></i><a><p></a>") + "deep"),
        ("nested formatting around blocks", repeated("<b><p>") + "deep" + &repeated("</b>")),
        ("deep lists", repeated("<ul><li>") + "deep"),
        ("deep quotes", repeated("<blockquote>x") + "deep"),
        ("deep tables", repeated("<table><tr><td>") + "deep"),
        ("a long table", format!("<table>{}<tr><td>deep</table>", repeated("<tr><td>a<td>b"))),
        ("a wide table", format!("<table><tr>{}<td>deep</table>", repeated("<td>a"))),
        ("wide cells", format!("deep<table>{}</table>", repeated("<tr><td colspan=64>a"))),
        ("regions", repeated("<main>x</main><nav>y</nav>") + "<p>deep"),
        ("entities", repeated("&amp;&#x26;&notanentity") + "deep"),
        ("an entity without an end", format!("deep &{}", repeated("a"))),
        ("comments", repeated("<!-- x -->") + "deep"),
        ("a comment without an end", format!("deep<!--{}", repeated("-<!"))),
        ("ends of scripts", format!("deep<script>{}", repeated("</scrip<!--<script>"))),
        ("titles", repeated("<title>") + "</title>deep"),
        ("fences", format!("deep<pre>{fences}{}</pre>", repeated("`"))),
        ("hidden in hidden", repeated("<div hidden>") + &repeated("</div>") + "deep"),
        ("ends of what never began", repeated("</div></p></table></ul>") + "deep"),
        ("links under a long base", format!("{base}deep{links}")),
        ("links without words", format!("{base}deep{}", repeated("<a href=x></a>"))),
        ("spaces", format!("deep{}", repeated(" \n"))),
    ]
}

/// How long the pages take together, in the time of this thread's processor.
fn seconds_of(page: &str) -> f64 {
    let base = Url::parse("https://site.example/").unwrap();
    let clock = || rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let seconds = |time: rustix::time::Timespec| time.tv_sec as f64 + time.tv_nsec as f64 / 1e9;
    let before = clock();
    for marks in [true, false] {
        std::hint::black_box(render(page, &base, marks));
    }
    seconds(clock()) - seconds(before)
}

#[test]
fn the_time_for_a_page_grows_with_its_length_alone() {
    const TIMES: usize = 6_000;
    const FACTOR: usize = 8;
    let pages = hostile_pages(TIMES).into_iter().zip(hostile_pages(TIMES * FACTOR));
    for ((name, small), (_, large)) in pages {
        // With eight times as much, quadratic work takes 64 times as long.
        let (few, many) = (seconds_of(&small), seconds_of(&large));
        assert!(many < few.max(0.01) * 30.0, "{name}: {few:.3} s become {many:.3} s");
    }
}

#[test]
fn a_text_that_would_outgrow_its_page_is_cut() {
    let base = Url::parse("https://site.example/").unwrap();
    let long = format!("<base href='/{}/'>{}", "long/".repeat(390), "<a href=x>y</a> ".repeat(20_000));
    let rendered = render(&long, &base, true);
    assert!(rendered.is_cut && rendered.text.len() < 3 * long.len(), "{}", rendered.text.len());
    assert!(!render(&"<p>a <a href=x>y</a>".repeat(20_000), &base, true).is_cut);
}

#[test]
fn links_lead_to_the_web_or_to_mail() {
    let base = Url::parse("https://site.example/a").unwrap();
    let schemes = [
        "javascript:alert(1)",
        " JaVaScRiPt:x",
        "java\tscript:x",
        "file:///etc/passwd",
        "FILE:x",
        "data:text/html,x",
        "vbscript:x",
        "blob:https://x/y",
        "tel:1",
        "ftp://x.example/",
        "about:blank",
        "view-source:https://x.example/",
    ];
    for scheme in schemes {
        let page = format!("<a href=\"{scheme}\">words</a> <img alt=picture src=\"{scheme}\">");
        let rendered = render(&page, &base, true);
        assert_eq!((rendered.text.as_str(), rendered.links.len()), ("words picture\n", 0), "{scheme}");
    }
    let page = "<a href=b>one</a><a href=//o.example/>two</a><a href=mailto:a@b.example>three</a>";
    let urls: Vec<String> = render(page, &base, true).links.into_iter().map(|link| link.url).collect();
    assert_eq!(urls, ["https://site.example/b", "https://o.example/", "mailto:a@b.example"]);
}

#[test]
fn depth_and_broken_nesting_cost_nothing() {
    let base = Url::parse("https://site.example/").unwrap();
    for page in ["<div>".repeat(200_000), "<table><tr><td>".repeat(20_000), "<ul><li>".repeat(50_000)] {
        let text = render(&format!("{page}deep"), &base, true).text;
        assert!(text.contains("deep"));
    }
}
