//! Which network commands reach: one of three words, or the domains that an operator lists, and the list that
//! `packages` stands for. Who matches a host against them is elsewhere.

use url::Host;

/// The name of [`PACKAGES`] in a list.
const PRESET: &str = "packages";

/// What package managers and git need to install and fetch from the public registries.
pub const PACKAGES: [&str; 33] = [
    "pypi.org",
    "files.pythonhosted.org",
    "registry.npmjs.org",
    "registry.yarnpkg.com",
    "nodejs.org",
    "crates.io",
    "index.crates.io",
    "static.crates.io",
    "static.rust-lang.org",
    "proxy.golang.org",
    "sum.golang.org",
    "go.dev",
    "dl.google.com",
    "rubygems.org",
    "index.rubygems.org",
    "repo.maven.apache.org",
    "repo1.maven.org",
    "plugins.gradle.org",
    "services.gradle.org",
    "repo.packagist.org",
    "packagist.org",
    "api.nuget.org",
    "github.com",
    "codeload.github.com",
    "raw.githubusercontent.com",
    "objects.githubusercontent.com",
    "release-assets.githubusercontent.com",
    "gitlab.com",
    "deb.debian.org",
    "security.debian.org",
    "archive.ubuntu.com",
    "security.ubuntu.com",
    "dl-cdn.alpinelinux.org",
];

/// Which network commands reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandNetwork {
    /// None.
    Off,
    /// Public addresses.
    Public,
    /// Some domains, through a proxy.
    Listed(Domains),
    /// All that the machine reaches.
    All,
}

/// Domains, as they were written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Domains(Vec<String>);

impl Domains {
    /// One pattern for each host, or for all hosts below one: `example.org`, `*.example.org`, either with a
    /// `:port`.
    pub fn patterns(&self) -> Vec<String> {
        let expanded = self.0.iter().flat_map(|item| match item.as_str() {
            PRESET => PACKAGES.to_vec(),
            domain => vec![domain],
        });
        expanded.map(str::to_owned).collect()
    }

    /// The same as the operator wrote it.
    pub fn written(&self) -> String {
        self.0.join(",")
    }
}

/// One of the words that stand alone, or a list of domains.
pub(crate) fn command_network(items: &[String]) -> Result<CommandNetwork, String> {
    match items {
        [] => return Ok(CommandNetwork::Off),
        [word] => match word.as_str() {
            "off" => return Ok(CommandNetwork::Off),
            "public" => return Ok(CommandNetwork::Public),
            "all" => return Ok(CommandNetwork::All),
            _ => {}
        },
        _ => {}
    }
    match items.iter().find(|item| *item != PRESET && !is_domain(item)) {
        None => Ok(CommandNetwork::Listed(Domains(items.to_vec()))),
        Some(wrong) => Err(wrong.clone()),
    }
}

/// Whether a text is a pattern. A name has a dot, so that no misspelt word becomes one.
fn is_domain(text: &str) -> bool {
    let (name, port) = text.rsplit_once(':').map_or((text, None), |(name, port)| (name, Some(port)));
    let name = name.strip_prefix("*.").unwrap_or(name);
    let is_name = !name.contains('*') && matches!(Host::parse(name), Ok(Host::Domain(_)));
    is_name
        && name.trim_end_matches('.').contains('.')
        && port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_docs_have_all_of_packages() {
        let docs = include_str!("../../docs/network.md");
        assert!(docs.contains(&format!("| `packages` | `{}` |", PACKAGES.join("`, `"))));
    }

    fn parse(text: &str) -> Result<CommandNetwork, String> {
        command_network(&crate::Source::items(text))
    }

    #[test]
    fn a_word_stands_alone_and_everything_else_is_a_list_of_domains() {
        assert_eq!(parse("public"), Ok(CommandNetwork::Public));
        assert_eq!(parse(""), Ok(CommandNetwork::Off));
        let Ok(CommandNetwork::Listed(domains)) = parse("packages, *.example.org,git.example.org:8443")
        else {
            panic!("it is a list");
        };
        assert_eq!(domains.written(), "packages,*.example.org,git.example.org:8443");
        assert_eq!(domains.patterns().len(), PACKAGES.len() + 2);
        assert!(PACKAGES.iter().all(|domain| is_domain(domain)));
        for (text, wrong) in [
            ("pubilc", "pubilc"),
            ("packages,off", "off"),
            ("*", "*"),
            ("localhost", "localhost"),
            ("10.0.0.1", "10.0.0.1"),
            ("2130706433", "2130706433"),
            ("[::1]:443", "[::1]:443"),
            ("https://example.org", "https://example.org"),
            ("a.*.org", "a.*.org"),
            ("example.org:web", "example.org:web"),
            ("u@example.org", "u@example.org"),
        ] {
            assert_eq!(parse(text), Err(wrong.to_owned()), "{text}");
        }
    }
}
