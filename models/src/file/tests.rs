//! Files that list models, valid and invalid.

use std::fs;

use tempfile::TempDir;

use super::*;
use crate::Selectable;

const TWO: &str = r#"
[[model]]
name = "big"
provider = "openai"
model = "gpt-5"
api_key_env = "BIG_KEY"
context_tokens = 400_000
max_output_tokens = 32_000
vision = true
reasoning_effort = "high"
temperature = 1
extra_body = { service_tier = "flex" }
extra_headers = { X-Title = "Autonous" }
prices = { input = 1.25, cached_input = 0.125, output = 10 }

[[model]]
name = "claude"
provider = "anthropic"
api_key_file = "claude.key"
"#;

fn config(text: &str) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("models.toml"), text).unwrap();
    directory
}

fn variables(directory: &TempDir, more: &[(&str, &str)]) -> Source {
    let directory = directory.path().display().to_string();
    let pairs: [(&str, &str); 4] =
        std::array::from_fn(|index| more.get(index).copied().unwrap_or((CONFIG_DIR.name(), &directory)));
    Source::from_pairs(pairs)
}

fn error_of(text: &str, more: &[(&str, &str)]) -> String {
    let directory = config(text);
    let variables = variables(&directory, more);
    let keys = || {
        let file = ModelsFile::read(&variables)?.expect("there is a file");
        let used = file.used(&variables)?;
        used.into_iter().map(|entry| file.key(entry, &variables)).collect::<Result<Vec<_>, _>>()
    };
    let error = keys().expect_err("it must be refused").to_string();
    error.replace(&directory.path().display().to_string(), "DIR")
}

#[test]
fn a_file_names_models_and_variables_pick_them() {
    let directory = config(TWO);
    let used = |more: &[(&str, &str)]| {
        let variables = variables(&directory, more);
        let file = ModelsFile::read(&variables).unwrap().unwrap();
        file.used(&variables).unwrap().into_iter().map(|entry| entry.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(used(&[]), ["big"]);
    assert_eq!(used(&[(MODEL_NAME.name(), "claude")]), ["claude"]);
    assert_eq!(used(&[(MODEL_NAME.name(), "claude"), (MODEL_FALLBACK.name(), " big ")]), ["claude", "big"]);
    let variables = variables(&directory, &[]);
    let file = ModelsFile::read(&variables).unwrap().unwrap();
    let big = file.entries().next().unwrap();
    assert_eq!(
        (big.model.as_deref(), big.context_tokens, big.max_output_tokens),
        (Some("gpt-5"), 400_000, Some(32_000))
    );
    assert_eq!((big.temperature, big.reasoning_effort), (Some(1.0), Some(settings::choices::Effort::High)));
    assert_eq!(big.prices.unwrap().output, 10.0);
}

#[test]
fn without_a_file_and_for_what_needs_no_server_there_is_no_list() {
    let empty = tempfile::tempdir().unwrap();
    assert!(ModelsFile::read(&variables(&empty, &[])).unwrap().is_none());
    assert!(ModelsFile::read(&Source::default()).unwrap().is_none());
    let broken = config("[[model");
    for provider in ["direct", "scripted"] {
        assert!(
            ModelsFile::read(&variables(&broken, &[(MODEL_PROVIDER.name(), provider)])).unwrap().is_none()
        );
    }
}

#[test]
fn every_mistake_names_the_file_and_the_line_and_says_what_is_right() {
    let with = |line: &str| format!("[[model]]\nname = \"m\"\nprovider = \"openai\"\n{line}\n");
    for (line, expected) in [
        ("contxt_tokens = 9", "unknown field `contxt_tokens`"),
        ("context_tokens = 3999", "expected a whole number from 4000"),
        ("context_tokens = -1", "expected a whole number from 4000"),
        ("context_tokens = \"big\"", "expected i64"),
        ("max_output_tokens = 0", "expected a whole number from 1"),
        ("base_url = \"localhost:8080\"", "expected an http or https URL"),
        ("api_key_env = \"sk-secret\"", "expected the name of a variable"),
        ("api_key_env = \"AUTONOUS_TELEGRAM_TOKEN\"", "holds no model's key"),
        ("vision = \"yes\"", "expected a boolean"),
        ("reasoning_effort = \"huge\"", "unknown variant `huge`"),
        ("temperature = 3", "expected a number from 0 to 2"),
        ("temperature = nan", "expected a number from 0 to 2"),
        ("prices = { input = -1, output = 2 }", "expected a price per million tokens"),
        ("prices = { input = 1 }", "missing field `output`"),
        ("extra_body = { messages = [] }", "must not have \"messages\""),
        ("extra_body = { a = { b = [2026-01-31] } }", "put it in quotes"),
        ("extra_headers = { \"a b\" = \"c\" }", "is not a header's name"),
        ("extra_headers = { Host = \"c\" }", "is the connection's own"),
        ("extra_headers = { X-Key = \"hunter2\\n\" }", "a character that headers cannot have"),
    ] {
        let error = error_of(&with(line), &[]);
        assert!(error.starts_with("DIR/models.toml, line 4: "), "{line}: {error}");
        assert!(error.contains(expected) && !error.contains("hunter2"), "{line}: {error}");
    }
    for (text, line, expected) in [
        ("[[model]]\nprovider = \"openai\"\n".to_owned(), "line 1", "missing field `name`"),
        ("[[model]]\nname = \"a,b\"\n".to_owned(), "line 2", "or have a comma in it"),
        (
            "[[model]]\nname = \"m\"\nprovider = \"oracle\"\n".to_owned(),
            "line 3",
            "expected one of anthropic, ",
        ),
        ("[[models]]\nname = \"m\"\n".to_owned(), "line 1", "unknown field `models`"),
        ("[[model]]\nname = \n".to_owned(), "line 2", "string values must be quoted"),
        (with("") + &with(""), "line 5", "a second model has the name \"m\""),
        (with("api_key_env = \"K\"\napi_key_file = \"k\""), "line 1", "are both set"),
        (with("context_tokens = 8000\nmax_output_tokens = 4001"), "line 1", "at most 4000, half of"),
    ] {
        let error = error_of(&text, &[]);
        assert!(
            error.starts_with(&format!("DIR/models.toml, {line}: ")) && error.contains(expected),
            "{error}"
        );
    }
    assert!(error_of("", &[]).contains("has no [[model]]"));
}

#[test]
fn variables_that_do_not_fit_the_file_are_refused() {
    for (pairs, expected) in [
        (
            &[(MODEL_NAME.name(), "small")][..],
            "AUTONOUS_MODEL_NAME=\"small\": expected a model of DIR/models.toml: big, claude",
        ),
        (&[(MODEL_FALLBACK.name(), "big")], "expected each model once, and not the first"),
        (
            &[(MODEL_FALLBACK.name(), "claude,small")],
            "AUTONOUS_MODEL_FALLBACK=\"small\": expected a model of",
        ),
        (
            &[(MODEL_PROVIDER.name(), "openai")],
            "expected nothing, because DIR/models.toml describes the models",
        ),
        (&[("AUTONOUS_MODEL_EXTRA_HEADERS", "hunter2")], "AUTONOUS_MODEL_EXTRA_HEADERS=\"***\""),
    ] {
        let error = error_of(TWO, pairs);
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_key_comes_from_its_variable_or_file_and_a_missing_one_is_named() {
    let directory = config(TWO);
    let variables = variables(&directory, &[("BIG_KEY", " b\n"), ("ANTHROPIC_API_KEY", "other")]);
    let file = ModelsFile::read(&variables).unwrap().unwrap();
    let [big, claude] = file.entries().collect::<Vec<_>>()[..] else { panic!("there are two") };
    assert!(file.key(big, &variables).unwrap().unwrap().matches("b"));
    fs::write(directory.path().join("claude.key"), "c\n").unwrap();
    assert!(file.key(claude, &variables).unwrap().unwrap().matches("c"));
    for content in ["", "two words", &"x".repeat(20_000)] {
        fs::write(directory.path().join("claude.key"), content).unwrap();
        let error = file.key(claude, &variables).unwrap_err().to_string();
        assert!(error.contains("line 16: api_key_file") && !error.contains("two words"), "{error}");
    }
    let missing = error_of(TWO, &[]);
    assert!(missing.contains("line 2: the model \"big\" needs a key: set BIG_KEY"), "{missing}");
}

#[test]
fn the_vendors_key_goes_to_the_vendor_only() {
    let text = "[[model]]\nname = \"a\"\nprovider = \"openai\"\n\
                [[model]]\nname = \"b\"\nprovider = \"openai\"\nbase_url = \"http://127.0.0.1:1/v1\"\n";
    let directory = config(text);
    let variables = variables(&directory, &[("OPENAI_API_KEY", "k")]);
    let file = ModelsFile::read(&variables).unwrap().unwrap();
    let keys: Vec<bool> =
        file.entries().map(|entry| file.key(entry, &variables).unwrap().is_some()).collect();
    assert_eq!(keys, [true, false]);
}

#[test]
fn the_keys_of_models_that_a_chat_can_choose_are_handed_on_and_all_leave_the_environment() {
    let third = "\n[[model]]\nname = \"small\"\nprovider = \"openai\"\nmodel = \"gpt-5-mini\"\n";
    let directory = config(&format!("{TWO}{third}api_key_env = \"BIG_KEY\"\ncontext_tokens = 400_000\n"));
    let proxy = ("HTTPS_PROXY", "http://user:password@proxy:3128");
    let with_key = variables(&directory, &[(MODEL_NAME.name(), "claude"), proxy, ("BIG_KEY", "k")]);
    let used = super::super::used_secrets(&with_key).unwrap();
    assert_eq!(used, ["BIG_KEY", "HTTPS_PROXY", "https_proxy"]);
    let variables = variables(&directory, &[(MODEL_NAME.name(), "claude"), proxy]);
    assert_eq!(super::super::used_secrets(&variables).unwrap(), ["HTTPS_PROXY", "https_proxy"]);
    let leaving = super::super::secret_variables(&variables);
    for name in ["BIG_KEY", "HTTPS_PROXY", "OPENAI_API_KEY", "AUTONOUS_MODEL_EXTRA_HEADERS"] {
        assert!(leaving.iter().any(|leaves| leaves == name), "{name}: {leaving:?}");
    }
}

#[test]
fn a_chat_can_choose_the_models_whose_keys_are_there() {
    let directory = config(TWO);
    let names = |pairs: &[(&str, &str)]| Selectable::read(&variables(&directory, pairs)).unwrap().names;
    assert_eq!(names(&[("BIG_KEY", "k")]), ["big"]);
    fs::write(directory.path().join("claude.key"), "k").unwrap();
    assert_eq!(names(&[("BIG_KEY", "k")]), ["big", "claude"]);
    assert_eq!(names(&[(MODEL_NAME.name(), "claude"), ("BIG_KEY", "k")]), ["claude", "big"]);
    assert_eq!(names(&[(MODEL_NAME.name(), "claude")]), ["claude"]);
}

#[test]
fn a_model_is_fixed_for_chats_that_have_no_other_and_its_key_is_there() {
    let chats =
        |chats: &str| TWO.replace("name = \"claude\"", &format!("name = \"claude\"\nchats = {chats}"));
    let directory = config(&chats(r#"["telegram:1", "telegram:-100:7"]"#));
    let variables = variables(&directory, &[("BIG_KEY", "k")]);
    let error = Selectable::read(&variables).unwrap_err().to_string();
    assert!(error.contains("claude.key"), "{error}");
    fs::write(directory.path().join("claude.key"), "k").unwrap();
    let fixed = Selectable::read(&variables).unwrap().fixed;
    let expected = ["telegram:-100:7", "telegram:1"].map(|chat| (chat.to_owned(), "claude".to_owned()));
    assert_eq!(fixed.into_iter().collect::<Vec<_>>(), expected);
    for (list, expected) in [
        (r#"["4711"]"#, "chats has \"4711\": expected CHANNEL:CHAT"),
        (r#"["telegram:1", "telegram:1"]"#, "a chat has two models: \"telegram:1\""),
    ] {
        let error = error_of(&chats(list), &[("BIG_KEY", "k")]);
        assert!(error.contains(expected) && error.contains("models.toml"), "{error}");
    }
}

#[test]
fn every_example_of_the_documents_is_valid() {
    let document = include_str!("../../../docs/models.md");
    let examples = document.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let counts: Vec<usize> = examples
        .map(|example| {
            let directory = config(example);
            let variables = variables(&directory, &[]);
            let file = ModelsFile::read(&variables).unwrap().unwrap();
            assert!(!file.used(&variables).unwrap().is_empty());
            file.entries().count()
        })
        .collect();
    assert_eq!(counts, [2, 14]);
}
