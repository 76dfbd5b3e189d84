//! Keys of model providers.
//!
//! Most begin with `sk-`, which is also the middle of honest words (`task-list`), so the short forms must
//! look generated.

use super::super::honest::is_random;
use super::super::rule::{Found, Rule, Start};

pub(super) static RULES: &[Rule] = &[
    Rule::token(
        "OpenAI project key",
        &["sk-proj-", "sk-svcacct-", "sk-admin-", "sk-none-"],
        "sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}",
    )
    .redacts(&[
        concat!("«sk-proj-", "FAKEu8jzPde0IgxLd6GncfBAepfJBd0Kh8oOOL8dKLzdocJ2»"),
        concat!("«sk-svcacct-", "FAKEisAjIhKtJ0RlgLKOmxgJTeKdNnFRIBXuDL7D-xtpYlSXpfKtH»"),
        concat!("«sk-admin-", "FAKEF4vUCsMehGAkWvj7FAc9QeWJKY40uvSwMFLZ»"),
    ])
    .leaves(&["sk-proj-xxxxxxxxxxxxxxxxxxxxxxxx"]),
    Rule::token("Anthropic key", &["sk-ant-"], "sk-ant-[A-Za-z0-9_-]{20,}")
        .redacts(&[
            concat!(
                "x-api-key: «sk-ant-",
                "api03-FAKEDe1f8rESQedUStPKR0CsTy4Qwb8DwkNhFdnXsiVpzz63FfkCzJr4i0B3-JrTAwR4y9ojfljoQoaF1A",
                "A»"
            ),
            concat!("«sk-ant-", "oat01-FAKELlqsajAIxNKu8iS2G8NPRVdD53X83RZJzzzzgEOzdmenCkhvMdgaKjIg»"),
        ])
        .leaves(&["sk-ant-your-key-goes-here-please", "sk-ant-api03-..."]),
    Rule::token("OpenRouter key", &["sk-or-"], "sk-or-(?:v[0-9]-)?[A-Za-z0-9]{32,}").redacts(&[concat!(
        "«sk-or-",
        "v1-b026c48bbf33feff9243a8f506b40928b5b7a767c76fb008f86bebb2737f6a6f»"
    )]),
    Rule::new("key of the OpenAI kind", &["sk-"], Start::Run, "sk-[A-Za-z0-9_-]{20,}", is_random_key)
        .redacts(&[
            concat!("«sk-", "0fb23c6f5da2cec255404e4fb440034d»"),
            concat!("Incorrect API key provided: «sk-", "FAKE3m03nbqnsGpWLuqIT3BlbkFJA1id6Vw5DQL05HA064Gi»"),
            concat!("«sk-lf-", "8a9783bf-0867-4e6e-a0eb-61232d8050fe»"),
        ])
        .leaves(&[
            "task-list-item-with-a-very-long-name risk-assessment-framework-2024-report",
            "sk-learn-contrib-pipeline-2024-report",
            "sk-[a-zA-Z0-9]{48}",
            "sk-your-key-goes-here-0123456789",
            "sk-ssh-ed25519-cert-v01@openssh.com",
            "sk-ecdsa-sha2-nistp256@openssh.com",
        ]),
    Rule::token("Groq or Cerebras key", &["gsk_", "csk-"], "(?:gsk_|csk-)[A-Za-z0-9]{40,}").redacts(&[
        concat!("«gsk_", "FAKEIjHGb3CXlMaXZjljENUhJduRHHJEYXg4JdpmrcXgGCJbW56e»"),
        concat!("«csk-", "2u66mr26846p7q9m2i0hz2uep1enthjxjqi3ogz5kok16zv0»"),
    ]),
    Rule::token("xAI key", &["xai-"], "xai-[A-Za-z0-9]{40,}").redacts(&[concat!(
        "«xai-",
        "FAKEmwufUxbvJDCTbyvHNsG9eh6Yo4gfqrc5XlrWi0B26R08qzjI6GKFSufrdZSlB5er8bOfZqfM2oeq»"
    )]),
    Rule::token("Hugging Face token", &["hf_", "api_org_"], "(?:hf_|api_org_)[A-Za-z0-9]{30,}")
        .redacts(&[
            concat!("«hf_", "FAKE3hDavJA76rNicHTp8hkqdlm7tOtHWn»"),
            concat!("«api_org_", "FAKEsCGRlrwZbqcabUGJmGEp7CgQ0PBQFI»"),
        ])
        .leaves(&["hf_hub_download_with_a_long_function_name", "hf_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    Rule::token("Replicate token", &["r8_"], "r8_[A-Za-z0-9]{30,}")
        .redacts(&[concat!("«r8_", "FAKE14zGtSnovm14TUOizwd1iaeOV4qBkdfQ1»")]),
    Rule::token("Perplexity key", &["pplx-"], "pplx-[A-Za-z0-9]{40,}")
        .redacts(&[concat!("«pplx-", "FAKEy3GQsMpSscDlkrCaqx9vJupc94tnwlavyfErGPmpGXaf»")]),
    Rule::token("NVIDIA key", &["nvapi-"], "nvapi-[A-Za-z0-9_-]{40,}")
        .redacts(&[concat!("«nvapi-", "FAKEq0fjzLczbttOofL9H2WjQ5TY4MyWuUFjsUNPjc01T5GOBUSZGi6HWGK10Zb0»")]),
    Rule::new(
        "search and vector services",
        &["tvly-", "pcsk_", "fc-", "jina_", "e2b_", "lsv2_", "fw_"],
        Start::Word,
        concat!(
            r"(?:tvly-[A-Za-z0-9-]{20,}|pcsk_[A-Za-z0-9_]{40,}|fc-[0-9a-f]{32}\b",
            r"|jina_[0-9a-f]{32}[A-Za-z0-9_-]{20,}|e2b_[0-9a-f]{40}\b",
            r"|lsv2_[ps][tk]_[0-9a-f]{32}_[0-9a-f]{10}|fw_[A-Za-z0-9]{22,28}\b)"
        ),
        is_random,
    )
    .redacts(&[
        concat!("«tvly-", "dev-FAKERLZ5TR9SPofbciOx9gy1CJdObOIR»"),
        concat!("«pcsk_", "FAKEpFqaDZeV7G5IfQHeVVEqZe2qpUWnoVPDF2yeE6RsXcNOPm»"),
        concat!("«fc-", "24a8940f1f836f99eee3692f09e2e8c6»"),
        concat!("«jina_", "62248b483b7ffc050fec94dbca3a0aacFAKEh87mTa5Vsqxezy3Lex7BWr2d»"),
        concat!("«e2b_", "8319478da6bd0c621de49f145fda9988c79fc355»"),
        concat!("«lsv2_", "pt_26f7eaed46725a2a7b860dcd6c8a1f8b_46287cced9»"),
        concat!("«fw_", "FAKE2039bicBTW5ZE9LFaez7»"),
    ])
    .leaves(&["fw_update_the_firmware", "fc-list", "fw_getFirmwareVersionString1"]),
];

/// Types of security keys for SSH (`sk-ssh-ed25519`) begin as keys of models do.
fn is_random_key(found: &Found<'_>) -> bool {
    !found.value.starts_with("sk-ssh-") && !found.value.starts_with("sk-ecdsa-") && is_random(found)
}
