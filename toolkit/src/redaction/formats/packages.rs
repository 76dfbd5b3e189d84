//! Tokens of package registries.
//!
//! Who holds one can publish under somebody else's name.

use super::super::honest::is_random;
use super::super::rule::{Rule, Start};

pub(super) static RULES: &[Rule] = &[
    Rule::token("npm token", &["npm_"], "npm_[A-Za-z0-9]{36,}")
        .redacts(&[concat!(
            "//registry.npmjs.org/:_authToken=«npm_",
            "FAKEmHMPGPPA0NlGtetOd4UYETIay2BV6DfV»"
        )])
        .leaves(&["npm_config_registry", "npm_lifecycle_event_with_a_name_that_is_long"]),
    Rule::token("PyPI token", &["pypi-age"], "pypi-AgE[A-Za-z0-9_-]{30,}")
        .redacts(&[concat!(
            "«pypi-",
            "AgEIcHlwaS5vcmcFAKEPClogqoPchv5V7S82qTdrOJRBRY6HqsP795nf4Gakq5p1Vm8kV6um4yv»"
        )])
        .leaves(&["pypi-agent-for-the-publication-of-packages"]),
    Rule::token("RubyGems token", &["rubygems_"], r"rubygems_[0-9a-f]{48}\b")
        .redacts(&[concat!("«rubygems_", "7cff00d796c25410335b400141212b62c376631129f34369»")]),
    Rule::new("crates.io token", &["cio"], Start::Word, r"cio[A-Za-z0-9]{32}\b", is_random)
        .redacts(&[concat!("«cio", "FAKEuvBqbwq7sdTWx6uX9MGE2sNVbYAb»")])
        .leaves(&["ciomethodthathasaverylongnameindeed"]),
    Rule::new("NuGet key", &["oy2"], Start::Word, r"oy2[a-z0-9]{43}\b", is_random)
        .redacts(&[concat!("«oy2", "17gw4d8nfsk1a7msdaw5g5l5w6qksno5khf59guwgzz»")]),
    Rule::token("Docker token", &["dckr_pat_", "dckr_oat_"], "dckr_[po]at_[A-Za-z0-9_-]{20,}").redacts(&[
        concat!("«dckr_pat_", "FAKE54VfB4PbxntqB5IGky4Oo8D»"),
        concat!("«dckr_oat_", "FAKEiIMWSWMPcwLuHj31CQJVukDCSXqL»"),
    ]),
    Rule::token("Clojars token", &["clojars_"], r"CLOJARS_[0-9a-f]{60}\b")
        .redacts(&[concat!("«CLOJARS_", "74ae7689447ab57a683536c4499d863386ce10cd79e048c07dd7753eda83»")])
        .leaves(&["CLOJARS_USERNAME"]),
    Rule::token(
        "Artifactory token",
        &["akcp", "cmvmdgtu"],
        "(?:AKCp[A-Za-z0-9]{60,}|cmVmdGtu[A-Za-z0-9]{50,})",
    )
    .redacts(&[
        concat!("«AKCp", "FAKE5ApYzTTOkq2BEDbN2AHRQ73l5PuXay1F6gcqInkTY88mHwg2KDInTEGbOY1xHvAV8»"),
        concat!("«cmVmdGtu", "OjAxOFAKEDnRlzGW7hUNwOdqryzdaeA6AOSRwLqgotVz89HoZ9zDnki7»"),
    ]),
];
