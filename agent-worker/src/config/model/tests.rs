//! The settings of a model, valid and invalid.

use settings::Provider as Server;
use settings::table::MODEL_API_KEY;

use super::*;
use crate::model::providers::default_model;

const NAME: &str = "AUTONOUS_MODEL_NAME";

fn read<const N: usize>(pairs: [(&str, &str); N]) -> Result<ModelConfig, String> {
    ModelConfig::read(&Source::from_pairs(pairs)).map_err(|error| error.to_string())
}

fn models<const N: usize>(pairs: [(&str, &str); N]) -> Vec<Remote> {
    match read(pairs).unwrap().provider {
        Provider::Remote(models) => models,
        other => panic!("{other:?} instead of a server"),
    }
}

fn check<const N: usize>(pairs: [(&str, &str); N], expected: &str) {
    let provider = read(pairs).map(|config| config.provider);
    let name = match &provider {
        Ok(Provider::Direct) => "direct",
        Ok(Provider::Remote(models)) => models[0].provider.name(),
        Ok(Provider::Scripted(_)) => "scripted",
        Err(error) => error,
    };
    assert_eq!(name, expected, "{pairs:?}");
}

#[test]
fn the_provider_is_chosen_by_key_and_is_direct_without_one() {
    let (open, theirs) = (("OPENAI_API_KEY", "k"), ("ANTHROPIC_API_KEY", "k"));
    check([], "direct");
    check([open], "openai");
    check([theirs], "anthropic");
    check([open, theirs], "openai");
    check([(MODEL_API_KEY.name(), "k"), theirs], "openai");
    check([open, (MODEL_PROVIDER.name(), "direct")], "direct");
    check([open, theirs, (MODEL_PROVIDER.name(), "anthropic")], "anthropic");
}

#[test]
fn an_address_alone_chooses_the_provider_because_a_local_server_needs_no_key() {
    for (variable, provider) in [
        ("AUTONOUS_MODEL_BASE_URL", "openai"),
        ("OPENAI_BASE_URL", "openai"),
        ("ANTHROPIC_BASE_URL", "anthropic"),
        ("GOOGLE_GEMINI_BASE_URL", "gemini"),
    ] {
        let address = (variable, "http://127.0.0.1:11434/v1");
        check([address], provider);
        check([address, ("ANTHROPIC_API_KEY", "k")], "anthropic");
    }
}

#[test]
fn our_own_key_has_precedence_over_the_vendors() {
    for provider in ["openai", "anthropic"] {
        let keys = [
            (MODEL_API_KEY.name(), " ours\n"),
            ("OPENAI_API_KEY", "a"),
            ("ANTHROPIC_API_KEY", "b"),
            (MODEL_PROVIDER.name(), provider),
        ];
        assert!(models(keys)[0].settings.key.as_ref().unwrap().matches("ours"));
    }
}

#[test]
fn a_local_server_needs_no_key_but_a_vendor_does() {
    let base_url = ("AUTONOUS_MODEL_BASE_URL", "http://127.0.0.1:11434/v1");
    for provider in ["openai", "anthropic"] {
        check([(MODEL_PROVIDER.name(), provider), base_url], provider);
        assert!(
            read([(MODEL_PROVIDER.name(), provider)]).unwrap_err().starts_with("AUTONOUS_MODEL_API_KEY=")
        );
    }
    let other_key = [(MODEL_PROVIDER.name(), "anthropic"), ("OPENAI_API_KEY", "k")];
    assert!(read(other_key).unwrap_err().starts_with("AUTONOUS_MODEL_API_KEY="));
    check([(MODEL_PROVIDER.name(), "openai"), ("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")], "openai");
}

#[test]
fn the_other_models_are_asked_at_the_same_address_with_the_same_key() {
    let models = models([("OPENAI_API_KEY", "k"), (MODEL_FALLBACK.name(), "small, tiny")]);
    let names: Vec<&str> = models.iter().map(|model| model.settings.model.as_str()).collect();
    assert_eq!(names, [default_model(Server::OpenAi), "small", "tiny"]);
    for model in &models {
        assert_eq!(model.settings.base_url.as_str(), Server::OpenAi.vendor_base_url());
        assert!(model.settings.key.as_ref().unwrap().matches("k"));
    }
}

#[test]
fn the_vendors_variable_names_the_address_unless_ours_does() {
    let theirs = ("ANTHROPIC_BASE_URL", "http://gateway");
    let key = ("ANTHROPIC_API_KEY", "k");
    let url = |models: Vec<Remote>| models[0].settings.url("messages").to_string();
    assert_eq!(url(models([key, theirs])), "http://gateway/v1/messages");
    let ours = ("AUTONOUS_MODEL_BASE_URL", "http://ours/v1/");
    assert_eq!(url(models([key, theirs, ours])), "http://ours/v1/messages");
    assert_eq!(models([key])[0].settings.model, default_model(Server::Anthropic));
}

#[test]
fn a_vendors_own_models_see_and_of_others_a_setting_says_so() {
    let key = (MODEL_API_KEY.name(), "k");
    let sees = |models: Vec<Remote>| models[0].settings.options.vision;
    assert!(sees(models([key])));
    let local = ("AUTONOUS_MODEL_BASE_URL", "http://127.0.0.1:1/v1");
    assert!(!sees(models([key, local])));
    assert!(sees(models([key, local, ("AUTONOUS_MODEL_VISION", "true")])));
    assert!(!sees(models([key, ("AUTONOUS_MODEL_VISION", "false")])));
}

#[test]
fn invalid_settings_stop_the_start_and_say_what_is_expected() {
    let unknown = read([(MODEL_PROVIDER.name(), "oracle")]).unwrap_err();
    assert!(unknown.starts_with("AUTONOUS_MODEL_PROVIDER=\"oracle\": expected one of direct, scripted"));
    let key = ("OPENAI_API_KEY", "k");
    for (pairs, expected) in [
        (
            [key, (MODEL_FALLBACK.name(), default_model(Server::OpenAi))],
            "expected another model than the first",
        ),
        ([key, (MODEL_FALLBACK.name(), "a,a")], "AUTONOUS_MODEL_FALLBACK=\"a\": expected another model"),
        (
            [(MODEL_PROVIDER.name(), "direct"), (MODEL_FALLBACK.name(), "m")],
            "AUTONOUS_MODEL_FALLBACK=\"m\": expected nothing",
        ),
        (
            [(MODEL_PROVIDER.name(), "direct"), (MODEL_TOOL_PROTOCOL.name(), "json")],
            "TOOL_PROTOCOL=\"json\": expected native",
        ),
        (
            [(MODEL_PROVIDER.name(), "scripted"), (MODEL_TOOL_PROTOCOL.name(), "json")],
            "AUTONOUS_MODEL_SCRIPT=",
        ),
        (
            [key, ("AUTONOUS_MODEL_BASE_URL", "localhost")],
            "AUTONOUS_MODEL_BASE_URL=\"localhost\": expected an http",
        ),
        ([key, ("OPENAI_BASE_URL", "ftp://x")], "OPENAI_BASE_URL=\"ftp://x\": expected an http"),
        ([key, ("AUTONOUS_MODEL_MAX_OUTPUT_TOKENS", "64001")], "expected a whole number from 1 to 64000"),
        ([key, ("AUTONOUS_MODEL_REASONING_EFFORT", "huge")], "expected one of none, minimal, low"),
        ([key, ("AUTONOUS_MODEL_EXTRA_BODY", "[1]")], "expected a JSON object"),
        ([key, ("AUTONOUS_MODEL_EXTRA_BODY", "{\"tools\":[]}")], "must not have \"tools\""),
        (
            [key, ("AUTONOUS_MODEL_EXTRA_HEADERS", "{\"a\":\"hunter2\\n\"}")],
            "=\"***\": expected other headers",
        ),
        ([key, ("AUTONOUS_MODEL_EXTRA_HEADERS", "hunter2")], "expected a JSON object of texts"),
        (
            [key, ("HTTPS_PROXY", "socks5://user:hunter2@proxy")],
            "HTTPS_PROXY=\"***\": expected the http or https URL",
        ),
    ] {
        let error = read(pairs).unwrap_err();
        assert!(error.contains(expected) && !error.contains("hunter2"), "{error}");
    }
}

#[test]
fn azure_has_its_version_in_the_address_and_the_key_in_its_own_header() {
    let url = "https://res.openai.azure.com/openai/deployments/d?api-version=2024-10-21";
    let models = models([(MODEL_API_KEY.name(), "k"), ("AUTONOUS_MODEL_BASE_URL", url), (NAME, "d")]);
    let path = "https://res.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21";
    assert_eq!(models[0].settings.url("chat/completions").as_str(), path);
    let (_, request) = models[0].probe().unwrap().request.unwrap();
    let list = "https://res.openai.azure.com/openai/models?api-version=2024-10-21";
    assert_eq!((request.url().as_str(), request.headers()["api-key"].as_bytes()), (list, &b"k"[..]));
}
