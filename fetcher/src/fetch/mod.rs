//! One request, from the job to the last message, in the process that was forked for it.

mod body;
pub(crate) mod connect;
mod exchange;
mod headers;
mod redirects;
mod shown;
mod tls;

use std::cell::RefCell;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use url::Url;

use crate::credentials::Credentials;
use crate::judge::{Hosts, service_of};
use crate::messages::{Fetch, FetchError, Found, Job, Message, Page, Purpose, Search};
use crate::page;
use crate::search;
use crate::secrets::Secrets;
use crate::stream;
use crate::web_settings::Settings;

pub use headers::check as check_headers;
pub(crate) use tls::Tls;

use body::{Body, Kept, Stored};
use redirects::{Answer, Ask};

/// The longest that a request may take.
const LONGEST: Duration = Duration::from_secs(300);

/// The status of an answer that is a part of what was asked for.
const PARTIAL_CONTENT: u16 = 206;

/// The longest answer of a search service.
const SEARCH_BYTES: u64 = 4 << 20;

/// What every request's process begins with.
pub(crate) struct Context<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) credentials: Credentials,
    pub(crate) tls: Tls,
}

/// Does the job, and tells how it ended.
pub(crate) fn run(context: &Context<'_>, mut stream: UnixStream) {
    let Ok(job) = stream::receive::<Job>(&mut stream) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let (Ok(()), Ok(runtime)) = (stream::end_with(&stream), runtime) else { return };
    let output = Output::new(stream, &context.credentials.secrets);
    let (work, timeout_ms) = match &job {
        Job::Fetch(fetch) => (Work::Fetch(fetch), fetch.timeout_ms),
        Job::Search(search) => (Work::Search(search), search.timeout_ms),
    };
    let timeout = Duration::from_millis(timeout_ms).min(LONGEST);
    let done = runtime.block_on(async {
        match tokio::time::timeout(timeout, work.run(context, &output)).await {
            Ok(done) => done,
            Err(_) => Err(FetchError::TimedOut),
        }
    });
    if let Err(error) = done {
        output.send(Message::Failed { error, at: output.asked() });
    }
}

enum Work<'a> {
    Fetch(&'a Fetch),
    Search(&'a Search),
}

impl Work<'_> {
    async fn run(self, context: &Context<'_>, output: &Output<'_>) -> Result<(), FetchError> {
        match self {
            Self::Fetch(fetch) => run_fetch(context, fetch, output).await,
            Self::Search(search) => run_search(context, search, output).await,
        }
    }
}

/// The way to the tool server.
pub(crate) struct Output<'a> {
    stream: UnixStream,
    secrets: &'a Secrets,
    /// The address that is asked.
    asked: RefCell<Option<Url>>,
}

impl<'a> Output<'a> {
    fn new(stream: UnixStream, secrets: &'a Secrets) -> Self {
        Self { stream, secrets, asked: RefCell::default() }
    }

    /// Sends a message without what must not leave this process.
    pub(crate) fn send(&self, mut message: Message) {
        shown::clean(&mut message, self.secrets);
        if stream::send(&mut &self.stream, &message).is_err() {
            process::forked::exit(0);
        }
    }

    fn asks(&self, url: &Url) {
        *self.asked.borrow_mut() = Some(url.clone());
    }

    fn asked(&self) -> Option<String> {
        self.asked.borrow().as_ref().and_then(|url| service_of(url.as_str()))
    }
}

async fn run_fetch(context: &Context<'_>, fetch: &Fetch, output: &Output<'_>) -> Result<(), FetchError> {
    let credential = |url: &url::Url| {
        fetch.profile.as_ref().map(|name| context.credentials.select(name, &fetch.method, url)).transpose()
    };
    let url = crate::judge::parse(&fetch.url)?;
    let credential = credential(&url)?;
    headers::check(
        &fetch.headers,
        credential.map_or(&[], |credential| &credential.profile.allow_user_headers),
    )?;
    let more_hosts = Hosts::of(&fetch.allowed_hosts);
    let ask = Ask {
        method: &fetch.method,
        headers: &fetch.headers,
        body: fetch.body.as_deref(),
        credential,
        fixed_header: None,
        hosts: Some(&context.settings.hosts),
        more_hosts,
        stays: fetch.stays,
        allow_private: context.settings.allow_private,
        follows: credential.is_none_or(|credential| credential.profile.follow_redirects),
    };
    let Answer { head, body, base } =
        redirects::follow(&ask, url, &context.tls, |url| output.asks(url)).await?;
    let (content_type, status) = (head.content_type.clone(), head.status);
    output.send(Message::Head(head));
    match fetch.purpose {
        Purpose::Store if !(200..300).contains(&status) => Ok(()),
        Purpose::Store => store(body, fetch, output).await,
        Purpose::Read(extract) => {
            let content_type = content_type.as_deref();
            let most = page::most_bytes(content_type, fetch.max_bytes);
            let mut sink = Kept::new(most);
            let mut end = body.read_into(&mut sink, most).await?;
            let is_part = sink.is_full || status == PARTIAL_CONTENT;
            if is_part {
                end.sha256 = None;
            }
            let read = page::Body { bytes: &sink.bytes, is_cut: sink.is_full, content_type, base: &base };
            let page = page::page(&read, extract, fetch.max_bytes);
            output.send(Message::Page(Page { is_part, ..page }));
            output.send(Message::End(end));
            Ok(())
        }
    }
}

async fn store(body: Body, fetch: &Fetch, output: &Output<'_>) -> Result<(), FetchError> {
    let mut sink = Stored::new(output, fetch.max_bytes, output.secrets);
    let end = body.read_into(&mut sink, fetch.max_bytes).await?;
    sink.flush()?;
    output.send(Message::End(end));
    Ok(())
}

async fn run_search(context: &Context<'_>, search: &Search, output: &Output<'_>) -> Result<(), FetchError> {
    let settings = &context.settings.search;
    let provider = search::provider(settings.service);
    let key = context.credentials.search_key.as_ref();
    let request = provider.request(&settings.url, search, key.map(process::Secret::expose))?;
    let ask = Ask {
        method: request.method,
        headers: &request.headers,
        body: request.body.as_deref(),
        credential: None,
        fixed_header: request.key_header,
        hosts: None,
        more_hosts: Hosts::default(),
        stays: false,
        // The operator named its address; the model cannot.
        allow_private: settings.is_chosen,
        follows: false,
    };
    let Answer { head, body, .. } =
        redirects::follow(&ask, request.url, &context.tls, |url| output.asks(url)).await?;
    let mut sink = Kept::new(SEARCH_BYTES);
    body.read_into(&mut sink, SEARCH_BYTES).await?;
    let text = String::from_utf8_lossy(&sink.bytes);
    let (mut hits, left_out) = search::of_the_web(settings.service, head.status, &text)?;
    hits.truncate(search.max_results);
    output.send(Message::Found(Found { provider: settings.service, hits, left_out }));
    Ok(())
}
