//! A page as text: its beginning from the web, and its further parts from where it is kept.

use fetcher::{Fetch, Head, Job, Link, Message, Page, PageKind};
use protocol::ToolError;
use toolkit::{Call, PartialReason, Success};

use super::{FetchData, LinkData, UrlFetchArguments};
use crate::web::{self, Web};

/// The head of an answer.
pub(super) fn head(exchange: &mut fetcher::Exchange, call: &Call) -> Result<Head, ToolError> {
    match web::next(exchange, call)? {
        Message::Head(head) => Ok(head),
        _ => Err(web::out_of_turn()),
    }
}

/// Fetches a page and shows its beginning.
pub(super) fn read(
    web: &Web,
    fetch: &Fetch,
    arguments: &UrlFetchArguments,
    call: &Call,
) -> Result<Success<FetchData>, ToolError> {
    let mut exchange = web.begin(&Job::Fetch(fetch.clone()))?;
    let head = head(&mut exchange, call)?;
    let Message::Page(page) = web::next(&mut exchange, call)? else { return Err(web::out_of_turn()) };
    let Message::End(end) = web::next(&mut exchange, call)? else { return Err(web::out_of_turn()) };
    let mut success = Success { notices: notices(&head, &page, fetch), ..Success::default() };
    let status = head.status;
    let Page { mut text, title, links, is_cut, .. } = page;
    // Escapes are longer than the characters they stand for, and the bound holds for the shown text.
    protocol::visible::escape(&mut text);
    let cut = web::cut(&text, 0, call.bounds);
    success.stdout = cut.text.to_owned();
    success.data = FetchData {
        bytes: Some(end.bytes),
        sha256: end.sha256,
        title,
        links: links.into_iter().map(|Link { text, url }| LinkData { text, url }).collect(),
        ..FetchData::of(head)
    };
    if status >= 400 {
        success.partial = Some(PartialReason::ErrorStatus);
    } else if is_cut {
        success.partial = Some(PartialReason::Cut(toolkit::output::Full::Limit));
    }
    if let Some(next) = cut.next {
        let (full_output, notice) = web.keep(call, &text);
        success.notices.extend(notice);
        success.next_page_cursor =
            full_output.as_ref().map(|_| web.cursor(&arguments.bound(), &call.id, next));
        success.full_output = full_output;
    }
    Ok(success.cut_at(cut.full))
}

fn notices(head: &Head, page: &Page, fetch: &Fetch) -> Vec<String> {
    let mut notices = Vec::new();
    if head.status >= 300 {
        // What the server says it in is outside text and stays in the headers.
        let leads_on = head.headers.iter().any(|(name, _)| name == "location");
        let to = if leads_on { "; the header `location` says where to" } else { "" };
        notices.push(format!("The server answered with status {}{to}.", head.status));
    }
    if head.redirects > 0 {
        notices.push(format!("Redirected to {}.", head.final_url));
    }
    if page.is_cut {
        let most = fetch.max_bytes;
        notices.push(if page.kind == PageKind::Pdf || page.is_part {
            let what = if page.kind == PageKind::Pdf { "of its text are shown" } else { "were read" };
            format!(
                "Only the first {most} bytes {what}: repeat with a larger `max_bytes`, or use \
                 `download_path`."
            )
        } else {
            "Its text is much longer than the page, so only the beginning is shown: use \
             `download_path`."
                .to_owned()
        });
    }
    if page.kind == PageKind::Html && page.text.is_empty() {
        notices.push("The page has no text: it needs scripts, which are not run.".to_owned());
    }
    notices
}

/// Shows the further part of a page that was kept.
pub(super) fn read_on(
    web: &Web,
    call: &Call,
    arguments: &UrlFetchArguments,
    cursor: &str,
) -> Result<Success<FetchData>, ToolError> {
    let (text, kept_by, start) = web.reopen(call, &arguments.bound(), cursor)?;
    let cut = web::cut(&text, start, call.bounds);
    let success = Success {
        stdout: cut.text.to_owned(),
        next_page_cursor: cut.next.map(|next| web.cursor(&arguments.bound(), &kept_by, next)),
        data: FetchData { from_cache: true, ..FetchData::default() },
        ..Success::default()
    };
    Ok(success.cut_at(cut.full))
}
