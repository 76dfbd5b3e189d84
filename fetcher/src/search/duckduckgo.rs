//! DuckDuckGo's page for browsers without scripts: each result is a link of class `result__a`, its text one
//! of class `result__snippet`; advertisements have `result--ad`. Who is taken for a robot gets a page with a
//! puzzle instead, usually with status 202.

use url::Url;

use super::{Provider, SearchRequest, endpoint, failed, refused, unknown_layout, words};
use crate::messages::{FetchError, Recency, Search, SearchHit};
use crate::page::{Element, elements};

pub(super) struct DuckDuckGo;

impl Provider for DuckDuckGo {
    fn request(&self, base: &Url, search: &Search, _key: Option<&str>) -> Result<SearchRequest, FetchError> {
        let mut form = vec![("q", words(search))];
        if let Some(recency) = search.recency {
            let age = match recency {
                Recency::Day => "d",
                Recency::Week => "w",
                Recency::Month => "m",
                Recency::Year => "y",
            };
            form.push(("df", age.to_owned()));
        }
        let mut request = SearchRequest::get(endpoint(base, "html/", &form), "text/html");
        request.headers.push(("Accept-Language".to_owned(), "en-US,en;q=0.8".to_owned()));
        Ok(request)
    }

    fn hits(&self, status: u16, body: &str) -> Result<Vec<SearchHit>, FetchError> {
        let page = ResultPage::read(body);
        if page.is_puzzle || status == 202 {
            let message = "DuckDuckGo takes this machine for a robot and asks for a puzzle instead of \
                           answering. Try again later, or set AUTONOUS_SEARCH_PROVIDER to searxng, brave or \
                           tavily.";
            return Err(failed(message.to_owned(), true));
        }
        if status != 200 {
            return Err(refused("DuckDuckGo", status, ""));
        }
        if page.hits.is_empty() && (!page.says_none || page.leads_out) {
            return Err(unknown_layout("DuckDuckGo"));
        }
        Ok(page.hits)
    }
}

#[derive(Default)]
struct ResultPage {
    hits: Vec<SearchHit>,
    is_puzzle: bool,
    says_none: bool,
    /// Whether a link that is no advertisement leads to a result, whatever it looks like.
    leads_out: bool,
}

/// Which text of a result is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Title,
    Snippet,
}

impl ResultPage {
    fn read(body: &str) -> Self {
        let (mut page, mut part, mut in_advertisement) = (Self::default(), None, false);
        elements(body, |element| match element {
            Element::Start(name, attributes) => {
                page.is_puzzle |= ["anomaly-modal__title", "anomaly-modal__modal", "anomaly-modal__mask"]
                    .iter()
                    .any(|class| attributes.has_class(class))
                    || attributes.get("id") == Some("challenge-form");
                page.says_none |=
                    attributes.has_class("no-results") || attributes.has_class("result--no-result");
                if attributes.has_class("result") {
                    in_advertisement = attributes.has_class("result--ad");
                }
                if in_advertisement {
                    return;
                }
                let url = attributes.get("href").filter(|_| name == "a").and_then(target);
                page.leads_out |= attributes.get("href").is_some_and(leads_out);
                if name == "a" && attributes.has_class("result__a") {
                    part = url.map(|url| {
                        page.hits.push(SearchHit { title: String::new(), url, snippet: String::new() });
                        Part::Title
                    });
                } else if attributes.has_class("result__snippet") {
                    part = Some(Part::Snippet);
                }
            }
            Element::End("a" | "div" | "td") => part = None,
            Element::End(_) => {}
            Element::Text(text) => match (part, page.hits.last_mut()) {
                (Some(Part::Title), Some(hit)) => hit.title.push_str(text),
                (Some(Part::Snippet), Some(hit)) => hit.snippet.push_str(text),
                (Some(_) | None, _) => {}
            },
        });
        for hit in &mut page.hits {
            for text in [&mut hit.title, &mut hit.snippet] {
                *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            }
        }
        page
    }
}

/// Whether a link goes to a result by way of the service, which counts the clicks.
fn leads_out(href: &str) -> bool {
    href.contains("uddg=")
}

/// Where a result is: links go through `/l/?uddg=ADDRESS`.
fn target(href: &str) -> Option<String> {
    let url = Url::parse("https://duckduckgo.com/").ok()?.join(href).ok()?;
    let is_own = url.host_str().is_some_and(|host| host.ends_with("duckduckgo.com"));
    match url.query_pairs().find(|(name, _)| name == "uddg") {
        Some((_, target)) if is_own => Some(target.into_owned()),
        Some(_) | None if is_own => None,
        Some(_) | None => Some(url.into()),
    }
}
