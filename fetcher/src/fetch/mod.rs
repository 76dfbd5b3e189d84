//! One request, from the job to the last message, in the process that was forked for it.

mod body;
mod connect;
mod exchange;
mod headers;
mod redirects;
mod tls;

use std::io::Read as _;
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::credentials::Credentials;
use crate::judge::Hosts;
use crate::messages::{Fetch, FetchError, Job, Message, Purpose, Search};
use crate::page;
use crate::search;
use crate::settings::Settings;
use crate::stream;

pub use headers::check as check_headers;
pub(crate) use tls::Tls;

use body::{Kept, Stored};
use redirects::{Answer, Ask};

/// The longest that a request may take.
const LONGEST: Duration = Duration::from_secs(300);

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
    let Ok(watched) = stream.try_clone() else { return };
    // The tool server sends nothing more; when it closes its end, nobody waits for an answer.
    let watcher = std::thread::Builder::new().stack_size(64 << 10).spawn(move || {
        let _ = (&watched).read(&mut [0]);
        process::forked::exit(0)
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let (Ok(_), Ok(runtime)) = (watcher, runtime) else { return };
    let output = Output(Mutex::new(stream));
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
        output.send(&Message::Failed(error));
    }
}

enum Work<'a> {
    Fetch(&'a Fetch),
    Search(&'a Search),
}

impl Work<'_> {
    async fn run(self, context: &Context<'_>, output: &Output) -> Result<(), FetchError> {
        match self {
            Self::Fetch(fetch) => run_fetch(context, fetch, output).await,
            Self::Search(search) => run_search(context, search, output).await,
        }
    }
}

/// The socket to the tool server.
pub(crate) struct Output(Mutex<UnixStream>);

impl Output {
    pub(crate) fn send(&self, message: &Message) {
        let sent = stream::send(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), message);
        if sent.is_err() {
            process::forked::exit(0);
        }
    }
}

async fn run_fetch(context: &Context<'_>, fetch: &Fetch, output: &Output) -> Result<(), FetchError> {
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
    let Answer { mut head, body, base } = redirects::follow(&ask, url, &context.tls).await?;
    for (_, value) in &mut head.headers {
        context.credentials.redact(value);
    }
    context.credentials.redact(&mut head.final_url);
    let (content_type, is_success) = (head.content_type.clone(), (200..300).contains(&head.status));
    output.send(&Message::Head(head));
    match fetch.purpose {
        Purpose::Store if !is_success => Ok(()),
        Purpose::Store => {
            let mut sink = Stored::new(output, fetch.max_bytes, context.credentials.forms());
            let end = body.read_into(&mut sink, fetch.max_bytes).await?;
            sink.flush()?;
            output.send(&Message::End(end));
            Ok(())
        }
        Purpose::Read(extract) => {
            let content_type = content_type.as_deref();
            let most = page::most_bytes(content_type, fetch.max_bytes);
            let mut sink = Kept::new(most);
            let end = body.read_into(&mut sink, most).await?;
            let mut page =
                page::page(&sink.bytes, sink.is_full, content_type, extract, fetch.max_bytes, &base);
            context.credentials.redact(&mut page.text);
            for link in &mut page.links {
                context.credentials.redact(&mut link.url);
            }
            output.send(&Message::Page(page));
            output.send(&Message::End(end));
            Ok(())
        }
    }
}

async fn run_search(context: &Context<'_>, search: &Search, output: &Output) -> Result<(), FetchError> {
    let settings = &context.settings.search;
    let provider = search::provider(settings.provider);
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
    let Answer { head, body, .. } = redirects::follow(&ask, request.url, &context.tls).await?;
    let mut sink = Kept::new(SEARCH_BYTES);
    body.read_into(&mut sink, SEARCH_BYTES).await?;
    let text = String::from_utf8_lossy(&sink.bytes);
    let mut hits = provider.hits(head.status, &text)?;
    hits.truncate(search.max_results);
    output.send(&Message::Hits(settings.provider, hits));
    Ok(())
}
