//! Tokens and keys of vendors, one rule for each format. A new vendor is one rule here.
//!
//! Examples are split after the vendor's prefix, so that scanners of source code find no secret here.

use super::super::false_positives::{is_no_placeholder, is_not_dummy, is_random};
use super::super::found::Found;
use super::super::rule::{Rule, Start, rules};

pub(super) static RULES: &[Rule] = rules! {
    // Model providers. Most keys begin with `sk-`, which is also inside ordinary words (`task-list`), so the
    // short forms must look random.
    rule "OpenAI project key", &["sk-proj-", "sk-svcacct-", "sk-admin-", "sk-none-"],
        "sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}";
        redacts "«sk-proj-" "FAKEu8jzPde0IgxLd6GncfBAepfJBd0Kh8oOOL8dKLzdocJ2»"
        redacts "«sk-svcacct-" "FAKEisAjIhKtJ0RlgLKOmxgJTeKdNnFRIBXuDL7D-xtpYlSXpfKtH»"
        redacts "«sk-admin-" "FAKEF4vUCsMehGAkWvj7FAc9QeWJKY40uvSwMFLZ»"
        leaves "sk-proj-xxxxxxxxxxxxxxxxxxxxxxxx"
    rule "Anthropic key", &["sk-ant-"], "sk-ant-[A-Za-z0-9_-]{20,}";
        redacts "x-api-key: «sk-ant-"
            "api03-FAKEDe1f8rESQedUStPKR0CsTy4Qwb8DwkNhFdnXsiVpzz63FfkCzJr4i0B3-JrTAwR4y9ojfljoQoaF1A" "A»"
        redacts "«sk-ant-" "oat01-FAKELlqsajAIxNKu8iS2G8NPRVdD53X83RZJzzzzgEOzdmenCkhvMdgaKjIg»"
        leaves "sk-ant-your-key-goes-here-please", "sk-ant-api03-..."
    rule "OpenRouter key", &["sk-or-"], "sk-or-(?:v[0-9]-)?[A-Za-z0-9]{32,}";
        redacts "«sk-or-" "v1-b026c48bbf33feff9243a8f506b40928b5b7a767c76fb008f86bebb2737f6a6f»"
    rule "key of the OpenAI kind", &["sk-"], "sk-[A-Za-z0-9_-]{20,}", is_random_key;
        redacts "«sk-" "0fb23c6f5da2cec255404e4fb440034d»"
        redacts "Incorrect API key provided: «sk-" "FAKE3m03nbqnsGpWLuqIT3BlbkFJA1id6Vw5DQL05HA064Gi»"
        redacts "«sk-lf-" "8a9783bf-0867-4e6e-a0eb-61232d8050fe»"
        leaves "task-list-item-with-a-very-long-name risk-assessment-framework-2024-report",
            "sk-learn-contrib-pipeline-2024-report", "sk-[a-zA-Z0-9]{48}", "sk-your-key-goes-here-0123456789",
            "sk-ssh-ed25519-cert-v01@openssh.com", "sk-ecdsa-sha2-nistp256@openssh.com"
    rule "Groq or Cerebras key", &["gsk_", "csk-"], "(?:gsk_|csk-)[A-Za-z0-9]{40,}";
        redacts "«gsk_" "FAKEIjHGb3CXlMaXZjljENUhJduRHHJEYXg4JdpmrcXgGCJbW56e»"
        redacts "«csk-" "2u66mr26846p7q9m2i0hz2uep1enthjxjqi3ogz5kok16zv0»"
    rule "xAI key", &["xai-"], "xai-[A-Za-z0-9]{40,}";
        redacts "«xai-" "FAKEmwufUxbvJDCTbyvHNsG9eh6Yo4gfqrc5XlrWi0B26R08qzjI6GKFSufrdZSlB5er8bOfZqfM2oeq»"
    rule "Hugging Face token", &["hf_", "api_org_"], "(?:hf_|api_org_)[A-Za-z0-9]{30,}",
        is_no_placeholder;
        redacts "«hf_" "FAKE3hDavJA76rNicHTp8hkqdlm7tOtHWn»"
        redacts "«api_org_" "FAKEsCGRlrwZbqcabUGJmGEp7CgQ0PBQFI»"
        leaves "hf_hub_download_with_a_long_function_name", "hf_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    rule "Replicate token", &["r8_"], "r8_[A-Za-z0-9]{30,}";
        redacts "«r8_" "FAKE14zGtSnovm14TUOizwd1iaeOV4qBkdfQ1»"
    rule "Perplexity key", &["pplx-"], "pplx-[A-Za-z0-9]{40,}";
        redacts "«pplx-" "FAKEy3GQsMpSscDlkrCaqx9vJupc94tnwlavyfErGPmpGXaf»"
    rule "NVIDIA key", &["nvapi-"], "nvapi-[A-Za-z0-9_-]{40,}";
        redacts "«nvapi-" "FAKEq0fjzLczbttOofL9H2WjQ5TY4MyWuUFjsUNPjc01T5GOBUSZGi6HWGK10Zb0»"
    rule "search and vector services", &["tvly-", "pcsk_", "fc-", "jina_", "e2b_", "lsv2_", "fw_"],
        concat!(
            r"(?:tvly-[A-Za-z0-9-]{20,}|pcsk_[A-Za-z0-9_]{40,}|fc-[0-9a-f]{32}\b",
            r"|jina_[0-9a-f]{32}[A-Za-z0-9_-]{20,}|e2b_[0-9a-f]{40}\b",
            r"|lsv2_[ps][tk]_[0-9a-f]{32}_[0-9a-f]{10}|fw_[A-Za-z0-9]{22,28}\b)",
        ),
        is_random;
        redacts "«tvly-" "dev-FAKERLZ5TR9SPofbciOx9gy1CJdObOIR»"
        redacts "«pcsk_" "FAKEpFqaDZeV7G5IfQHeVVEqZe2qpUWnoVPDF2yeE6RsXcNOPm»"
        redacts "«fc-" "24a8940f1f836f99eee3692f09e2e8c6»"
        redacts "«jina_" "62248b483b7ffc050fec94dbca3a0aacFAKEh87mTa5Vsqxezy3Lex7BWr2d»"
        redacts "«e2b_" "8319478da6bd0c621de49f145fda9988c79fc355»"
        redacts "«lsv2_" "pt_26f7eaed46725a2a7b860dcd6c8a1f8b_46287cced9»"
        redacts "«fw_" "FAKE2039bicBTW5ZE9LFaez7»"
        leaves "fw_update_the_firmware", "fc-list", "fw_getFirmwareVersionString1"

    // Code forges. Their prefixes were made for scanners, so a prefix and a length are enough.
    rule "GitHub token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], "gh[pousr]_[A-Za-z0-9]{30,}",
        is_no_placeholder;
        redacts "token: «ghp_" "FAKE770H2DCpYgojjHRg80USP2W5DfJXcaYi»"
        redacts "«gho_" "FAKEoK6cPTt9iOqHOBSWhgetH8LmyqoYMaaI»"
        redacts "«ghu_" "FAKEtDr9uP14pEHpJpb9ATPtdbmF4RPAfqoQ»"
        redacts "https://x-access-token:«ghs_" "FAKEB7xoFcSvTAxRzmaZsV2GenFmtX0moDoq»"
        redacts "«ghr_" "FAKEW4sg8NFNl5oFA6Qd8Mj7zdnbMjAdTdlz»"
        leaves "token = \"ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"",
            "let re = Regex::new(r\"gh[pousr]_[A-Za-z0-9]{36}\").unwrap();", "ghp_short"
    rule "GitHub fine-grained token", &["github_pat_"], "github_pat_[A-Za-z0-9_]{36,}";
        redacts "«github_pat_"
            "FAKEC5T4uUhf7kvmlP7HVD_ctQUy1xvCkgafrfwA94hJ9WnywX0t0ZBfdTEmxI6CmuxV5EbOApZOXzcycD»"
        leaves "github_pat_<yours>", "github_pat_validation_error_message_for_users"
    rule "GitLab token",
        &[
            "glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-", "glagent-", "gloas-",
            "glimt-", "glffct-", "glrtr-",
        ],
        concat!(
            "gl(?:pat|dt|rt|rtr|cbt|ptt|ft|soat|agent|oas|imt",
            r"|ffct)-[A-Za-z0-9_-]{20,}(?:\.[A-Za-z0-9_-]{2,}){0,2}",
        ),
        is_no_placeholder;
        redacts "«glpat-" "FAKEeZ6dqmVe5Mvxrv99»"
        redacts "«gldt-" "FAKENcqVTSu7rtaUWM6Z»"
        redacts "«glpat-" "FAKEO88eb0ogET9D9XyYq6B0Fi7.01.5latjpuu3»"
        redacts "«glcbt-" "64_FAKExYYMfGmzWkpAePcE»"
        leaves "glpat-xxxxxxxxxxxxxxxxxxxx"
    rule "GitLab runner registration token", &["gr1348941"], "GR1348941[A-Za-z0-9_-]{20,}";
        redacts "«GR1348941" "FAKEJIukB4geqNfngAFT»"
    rule "Atlassian token", &["atatt3", "atctt3", "atbb", "atoa"],
        r"(?:AT[AC]TT3[A-Za-z0-9_=-]{50,}|ATBB[A-Za-z0-9]{32}\b|ATOA[A-Za-z0-9_-]{40,})";
        redacts "«ATATT3" "xFfGF0FAKECloiADN5RpVI2XQWhX1ssrKrxqVqmCplppjs46LmuezqpGHoPZgPDcga=A1B2C3D4»"
        redacts "«ATBB" "FAKEE40o1C6xc4sohdmM0Lm7exG3lCMq»"
        redacts "«ATCTT3" "xFfGN0FAKEXXQ8agOMTNwncxvjcnqcMUP6n0a0uARxlNtencYFJEeAgYzQJjOIfPkz»"
    rule "Sourcegraph or Sonar token", &["sgp_", "slk_", "squ_", "sqp_", "sqa_"],
        r"(?:sgp_(?:[0-9a-fA-F]{16}_|local_)?[0-9a-fA-F]{40}|slk_[0-9a-f]{64}|sq[uap]_[0-9a-f]{40})\b";
        redacts "«sgp_local_" "4BDB2E1142A21C402364F9572B85A8E48F687AB1»"
        redacts "«slk_" "8d99d19bdd0b6cc60d5d32cbe54014c2b54b95528d99d19bdd0b6cc60d5d32cb»"
        redacts "«sgp_" "8d99d19bdd0b6cc60d5d32cbe54014c2b54b9552»"
        redacts "«squ_" "3cf6941fa1c257c6f561c5cb347611a3ce9d97dc»"
        redacts "«sgp_" "bee500fe7ee5fc32_4bdb2e1142a21c402364f9572b85a8e48f687ab1»"
    rule "build service token", &["bkua_", "ccipat_", "cciprj_"],
        "(?:bkua_[0-9a-f]{40}|CCIP(?:AT|RJ)_[A-Za-z0-9]{22}_[0-9a-f]{40})";
        redacts "«bkua_" "65c58ac5831be38cb8cb4ba2e751989a01749ddb»"
        redacts "«CCIPAT_" "FAKE5diFoNPcbdaKwtgHwI_7d946bf54074e3248c801bef750110c57513064d»"

    // Package registries.
    rule "npm token", &["npm_"], "npm_[A-Za-z0-9]{36,}", is_no_placeholder;
        redacts "//registry.npmjs.org/:_authToken=«npm_" "FAKEmHMPGPPA0NlGtetOd4UYETIay2BV6DfV»"
        leaves "npm_config_registry", "npm_lifecycle_event_with_a_name_that_is_long"
    rule "PyPI token", &["pypi-age"], "pypi-AgE[A-Za-z0-9_-]{30,}";
        redacts "«pypi-" "AgEIcHlwaS5vcmcFAKEPClogqoPchv5V7S82qTdrOJRBRY6HqsP795nf4Gakq5p1Vm8kV6um4yv»"
        leaves "pypi-agent-for-the-publication-of-packages"
    rule "RubyGems token", &["rubygems_"], r"rubygems_[0-9a-f]{48}\b";
        redacts "«rubygems_" "7cff00d796c25410335b400141212b62c376631129f34369»"
    rule "crates.io token", &["cio"], r"cio[A-Za-z0-9]{32}\b", is_random;
        redacts "«cio" "FAKEuvBqbwq7sdTWx6uX9MGE2sNVbYAb»"
        leaves "ciomethodthathasaverylongnameindeed"
    rule "NuGet key", &["oy2"], r"oy2[a-z0-9]{43}\b", is_random;
        redacts "«oy2" "17gw4d8nfsk1a7msdaw5g5l5w6qksno5khf59guwgzz»"
    rule "Docker token", &["dckr_pat_", "dckr_oat_"], "dckr_[po]at_[A-Za-z0-9_-]{20,}",
        is_no_placeholder;
        redacts "«dckr_pat_" "FAKE54VfB4PbxntqB5IGky4Oo8D»"
        redacts "«dckr_oat_" "FAKEiIMWSWMPcwLuHj31CQJVukDCSXqL»"
    rule "Clojars token", &["clojars_"], r"CLOJARS_[0-9a-f]{60}\b";
        redacts "«CLOJARS_" "74ae7689447ab57a683536c4499d863386ce10cd79e048c07dd7753eda83»"
        leaves "CLOJARS_USERNAME"
    rule "Artifactory token", &["akcp", "cmvmdgtu"], "(?:AKCp[A-Za-z0-9]{60,}|cmVmdGtu[A-Za-z0-9]{50,})";
        redacts "«AKCp" "FAKE5ApYzTTOkq2BEDbN2AHRQ73l5PuXay1F6gcqInkTY88mHwg2KDInTEGbOY1xHvAV8»"
        redacts "«cmVmdGtu" "OjAxOFAKEDnRlzGW7hUNwOdqryzdaeA6AOSRwLqgotVz89HoZ9zDnki7»"

    // Clouds and hosting. Identifiers that are useless without their key (account ids, ARNs) stay.
    rule "AWS key id with its secret", &["akia", "asia"],
        r#"A[KS]IA[A-Z0-9]{16}["']?[ \t]*[,:;|][ \t]*["']?([A-Za-z0-9/+=]{40})\b"#, is_random;
        redacts "AKIA" "FAKEEM49OJW03S9I,«FAKEX1EwY2orTyRqBRlE" "/aZUZrwpPtuEFBNOfQ5x»"
    rule "AWS key id", &["akia", "asia", "abia", "acca"], r"A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}\b",
        is_no_placeholder;
        redacts "aws_access_key_id = «AKIA" "FAKEJTYDFUI7WAAN»"
        redacts "«ASIA" "FAKEESQGJOL2WJNZ»"
        leaves "AKIAIOSFODNN7EXAMPLE", "AKIAXXXXXXXXXXXXXXXX", "AKIA[0-9A-Z]{16}", "ASIAPACIFICREGION"
    rule "AWS Bedrock key", &["absk", "bedrock-api-key-"],
        "(?:ABSK[A-Za-z0-9+/]{90,}={0,2}|bedrock-api-key-[A-Za-z0-9+/=]{40,})";
        redacts "«ABSK"
            "FAKEYIkN5SMYfQ55JYO1tmFSnHfV1CQ4hJhqAo0iEFJdED5jSFpFkIM3Vak1uDSKFQs1DxBA9RelOxOPbbNcRV7v"
            "ZgGEFW5jcnTAOivg3Qxv=»"
        redacts "«bedrock-api-key-" "FAKEEXHJX6nsBvBqJd0ssw0FzvGr3GwnPFYhvmuTtiLOfYczUJ4zIKdztgac»"
    rule "signature of a prepared request", &["x-amz-signature=", "x-goog-signature="],
        "X-(?:Amz|Goog)-Signature=([0-9a-f]{64,})", is_not_dummy, Start::Anywhere;
        redacts "https://b.s3.invalid/k?X-Amz-Expires=60&X-Amz-Signature=«6f1c4261e5351d30b49895d1a0d1f1"
            "3dce20c4fd32f640d0032634f087e51b42»&x=1"
    rule "Google key", &["aiza"], "AIza[A-Za-z0-9_-]{35,}";
        redacts "«AIza" "SyFAKEsOJTFDQ74q69dTcada4PR0NfyttUM»"
        redacts "?key=«AIza" "SyFAKEk931FMdux8KUCERkj9Zhx9PkOZAEy»&x=1"
        leaves "AIzaSyXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX"
    rule "Google OAuth", &["gocspx-", "ya29.", "1//0", "aq.ab"],
        concat!(
            r"(?:GOCSPX-[A-Za-z0-9_-]{20,}|ya29\.[A-Za-z0-9_.-]{20,}|1//0[A-Za-z0-9_-]{30,}",
            r"|AQ\.Ab[A-Za-z0-9_-]{40,})",
        ),
        is_no_placeholder;
        redacts "«GOCSPX-" "FAKEXYC8rYWKvsrdNPTZ0Mv3MUa1»"
        redacts "«ya29." "a0FAKEjM1tLB4pyyRyMX5oZCsSauqrBkL60W4Ycs1jZ43Kjr2ZZJRX6FwIfIJF»"
        redacts "«1//0" "gFAKEZymYWU7otMdRzDTn7qLWaYyDIfIZwXeozLH5q41HuEGLmm»"
        redacts "«AQ." "Ab8RFAKEnmflZSsxKKwzXH2jpc7Fx3gxODYfjuMbwrHMbgcn3»"
    rule "Azure account key", &["accountkey=", "sharedaccesskey="],
        "(?:Account|SharedAccess)Key=([A-Za-z0-9+/]{40,}={0,2})", is_not_dummy, Start::Anywhere;
        redacts "AccountName=x;AccountKey=«FAKE"
            "3KFLKnq7XrBg8CXL0M9iq1cvmlyfbdcJx3TDF8265e3MOz7hT9fquKoPf96QGzlC2kx9pUolc8q8wd5J5b==»;En"
            "dpointSuffix=core.windows.net"
        redacts "Endpoint=sb://x/;SharedAccessKey=«FAKE" "16dqYGTVPWEdgjuWa8mRVtLLCWPgEuxqyhxEykC=»"
        leaves "AccountKey=<key>"
    rule "Azure signature", &["sig="], "sig=([A-Za-z0-9%+/_-]{36,}={0,2})", is_random;
        redacts "https://x.blob.core.windows.net/c?sv=2024-01-01&sig=«FAKE"
            "pZj6R5aDT6mZck71oe7N3x4ViXC9g77y1bOeCvu%3D»&se=1"
        leaves "the sig=value"
    rule "Azure client secret", &["8q~"], "[A-Za-z0-9_~.-]{3}8Q~[A-Za-z0-9_~.-]{31,34}", is_not_dummy,
        Start::Back(is_azure_byte, 3);
        redacts "«aB1" "8Q~FAKE0oEhOxjvoVdlTCJ4jC3jrAApjbrK1s»"
    rule "Azure DevOps token", &["azdo"], r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}\b", is_not_dummy,
        Start::Back(u8::is_ascii_alphanumeric, 76);
        redacts "«FAKEvZkqFguD5EhjGdO5YQ7nJE1shqWmxBqp7pgy" "sA5kd1UsjObCZGvGiCaY18HslxBc6AnrKli1AZDOlHXo»"
    rule "DigitalOcean token", &["dop_v1_", "doo_v1_", "dor_v1_"], r"do[por]_v1_[0-9a-f]{64}\b";
        redacts "«dop_v1_" "5622f856469602d1ba9f20df4875b15b0be23b7ac193fe04072755398003680e»"
        redacts "«doo_v1_" "7e3b35183ef8333c4774ec50cd1c1bac7adac1a4b7d0b352ad6074dce1118813»"
    rule "Databricks token", &["dapi", "dkea", "dose"], r"d(?:api|kea|ose)[0-9a-f]{32}(?:-[0-9])?\b";
        redacts "«dapi" "830d71939b53182e4e349d98729e7c6b»"
        redacts "«dapi" "e9ff907a76cc0b57aaf89691052be1ce-2»"
        leaves "dapixxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    rule "Alibaba or Tencent key id", &["ltai", "akid"], r"(?:LTAI[A-Za-z0-9]{16,26}|AKID[A-Za-z0-9]{32})\b",
        is_random;
        redacts "«LTAI" "5tFAKEwVWgHo9RV7jAvQ»"
        redacts "«AKID" "FAKEwiRmNN2r01HgV2V7WErYOTO6TiA3»"
        leaves "LTAITISALONGUPPERCASEWORD"
    rule "HashiCorp Vault token", &["hvs.", "hvb.", "hvr."], r"hv[sbr]\.[A-Za-z0-9_-]{20,}";
        redacts "«hvs."
            "CAESFAKEgaAXJLhFz9KjA2Yr3NMhy2CSDsUwswzHJMyPuaYV2FyCtlItZjBKyLof06vu1M1p9unB569abdqK5Ft6"
            "IXtINB»"
        redacts "«hvb." "AAAAAQFAKEH0HURByDwcMRwC8aReHogAxGzPJ7Kj4m9AFzCXN5LvSHV0fkxuxe0tGl»"
    rule "Terraform Cloud token", &[".atlasv1."], r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}",
        is_not_dummy, Start::Back(u8::is_ascii_alphanumeric, 14);
        redacts "«FAKEhP5sSv07G4"
            ".atlasv1.AOkHs0GnG5mAldOKMgwKOOUcSAaYatTSJa6tz1gLaQbmlFXJKr3P5IGjKmAMhjkHWGg»"
    rule "hosting token",
        &[
            "hrku-", "fo1_", "fm1_", "fm1a_", "fm1r_", "fm2_",
            "nfp_", "rnd_", "sbp_", "sb_secret_", "pscale_", "napi_",
            "vercel_", "pul-", "dp.",
        ],
        concat!(
            "(?:HRKU-[A-Za-z0-9_-]{36,}|fo1_[A-Za-z0-9_-]{40,}|fm(?:1[ar]?|2)_[A-Za-z0-9+/_=-]{60,}",
            r"|nfp_[A-Za-z0-9]{36,}|rnd_[A-Za-z0-9]{28,}|sbp_(?:v0_)?[0-9a-f]{40}\b",
            "|sb_secret_[A-Za-z0-9_-]{30,}|pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{30,}",
            r"|napi_[a-z0-9]{50,}|pul-[0-9a-f]{40}\b",
            r"|dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{30,})",
        ),
        is_random;
        redacts "«HRKU-" "8a9783bf-0867-4e6e-a0eb-61232d8050fe»"
        redacts "«fo1_" "FAKEbgek8HF0DNBZZdPaRXLujTpwrkcrOg258LewmCN»"
        redacts "«fm1r_" "lJPEFAKEAAAAAAAAADxjMQybdo4zLW9cCdNp"
            "pock7L2lua530DtAMq94F8epRyRTLoAtz4TFbY3pflkwyla4=»"
        redacts "«fm2_" "FAKEybdo4zLW9cCdNppock7L2lua530DtAMq94F8epRyRTLoAtz4TFbY3pflkwyla4szJxhvI3yvzPe9»"
        redacts "«nfp_" "FAKEhB06wJpymDswpBcrQbvZjpTifmrI1YiJ»"
        redacts "«rnd_" "FAKECD1YZpkxwnUzyO9Lnt8EGno2»"
        redacts "«sbp_" "e48eb7c64328c0490c257a632b96292794c9bce4»"
        redacts "«sb_secret_" "FAKE7rlbxRZQSw5AbQTSDp2zw5Oglsh»"
        redacts "«pscale_tkn_" "FAKEr6MUoTRczcMkBmWtjyVcJtOO8lK1oKFTHq7BQRK»"
        redacts "«napi_" "wahscdphcunwf0zor7fw12v626dn16i5mc9ql8kp8qpdkww0fmtii54ppa62iwti»"
        redacts "«pul-" "47a3d54ec6390bf61189639e35aeeb95210ef2a8»"
        redacts "«dp." "pt.FAKEgPF9BFmYIuaw6fPsON7UPSqPpfiVbbXz1jsxl9O»"
        leaves "napi_create_function", "rnd_generator_with_a_name_that_is_long", "dp.st.rows"
    rule "network token", &["tskey-", "cfut_", "cfat_"],
        "(?:tskey-[a-z]+-[A-Za-z0-9]{10,}-[A-Za-z0-9]{20,}|cf[ua]t_[A-Za-z0-9]{40,})";
        redacts "«tskey-" "auth-FAKEH257RkgY-U1tVNuylP0wuoxiJ6x11qpdcgKZO60Tz»"
        redacts "«cfut_" "FAKE5d8nFBFUktMLOfjSokiCOzfc2CEmnUxac1N21YGBjseQ»"

    // Chat, mail and phone services. An address that anyone who knows it may post to is a secret as well.
    rule "Slack token",
        &["xoxa-", "xoxb-", "xoxp-", "xoxo-", "xoxs-", "xoxr-", "xoxe-", "xoxe.", "xoxc-", "xoxd-"],
        r"xox(?:e\.xox[bp]|[abceoprsd])-[A-Za-z0-9%-]{10,}";
        redacts "«xoxb-" "2765433240-07633654888-FAKEdGTA4veCaQ90l5UkysaC»"
        redacts "«xoxp-" "276543324012-FAKEZKRwKmEfIuHDBI6O3jz9MNfZZd»"
        redacts "«xoxe." "xoxp-1-FAKEURvMQtKKA8xEQPit3vH4Ob2moRVCSfjQLxJL8AxHpKCzqhol94mJVho3»"
        leaves "xoxb-your-bot-token-here", "xoxb-000000000000-000000000000-xxxxxxxxxxxxxxxxxxxxxxxx"
    rule "Slack app token", &["xapp-"], "xapp-[0-9]-[A-Z0-9]+-[0-9]+-[a-z0-9]{30,}";
        redacts "«xapp-"
            "1-AFAKEQGM7Q5-0763365488840-7e732d2e433ec56f24b1c71b106e934d263b5ba0837bbf1b3ba3178b6e0e" "30f3»"
    rule "Slack webhook", &["hooks.slack.com/"],
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_-]{20,})", is_not_dummy,
        Start::Anywhere;
        redacts "https://hooks.slack.com/services/«T0FAKEEQLJ/B09SYJQ8R2" "/FAKEabvjFGE3cZ1celN0PRMz»"
        leaves "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX"
    rule "Discord webhook", &["/api/webhooks/"], "/api/webhooks/[0-9]{15,21}/([A-Za-z0-9_-]{50,})",
        is_not_dummy, Start::Anywhere;
        redacts "https://discord.com/api/webhooks/123456789012345678/«FAKE1E9kS2Czo39NHexvHnt5iLNcnk0xUD"
            "vKDy7wuavLEvobpD4McOjUQjryreGqwKKH»"
    rule "Teams webhook", &[".webhook.office.com/"],
        r"\.webhook\.office\.com/webhookb2/([A-Za-z0-9@/_-]{60,})", is_not_dummy, Start::Anywhere;
        redacts "https://x.webhook.office.com/webhookb2/«8a9783bf-0867-4e6e-a0eb-61232d8050fe@8a9783bf-08"
            "67-4e6e-a0eb-61232d8050fe"
            "/IncomingWebhook/4136d3b97429ab7bca1aafb77b4460ec/8a9783bf-0867-4e6e-a0eb-61232d8050fe»"
    rule "Discord bot token", &["discord"],
        r"[^\r\n]{0,60}?\b([MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,45})", is_random,
        Start::Anywhere;
        redacts "DISCORD_TOKEN=«MTFAKECzKXt7kLejtUtqUKJQ" ".GU6Abi.79ve6mL7fLltLwDwXSBU37e1Fu5lr5qIbWkOrp»"
        redacts "discord client login with «MTFAKETbndzCm5Ms3GPgmpUd9i"
            ".GU6Abi.MdfeZ04KvUiamrIP4aOu7bnuu3VbPFzNRZvld3»"
        leaves "discord.js", "discord.Object.create.something"
    rule "key of Discord, Facebook or Sourcegraph", &["discord", "facebook", "fb_", "sourcegraph"],
        concat!(
            "(?i:discord|facebook|fb_|sourcegraph)[A-Za-z_. -]{0,24}?(?i:token|secret|key|api)",
            r#"[A-Za-z_]{0,8}\\{0,3}["'`]?\]?[ \t]*(?::{1,3}=|=>|\?=|=|:|,|>)[ \t]*\\{0,3}["'`]?"#,
            r"([0-9a-f]{64}|[0-9a-f]{32}|[0-9a-f]{40}|[A-Za-z0-9_-]{32})\b",
        ),
        is_private_key_of_vendor;
        redacts "discord_api_key: \"«e7322523fb86ed64c836a979cf8465fb" "d436378c653c1db38f9ae87bc62a6fd5»\""
        redacts "DISCORD_CLIENT_SECRET => '«FAKEbDNBZZdPaRXLujTpwrk" "crkOg258L»'"
        redacts "facebook.app_secret = «fc9fa9ac5b35ac22" "3ac5d62ab4dd2ce9»"
        redacts "sourcegraph-access-token: «8d99d19bdd0b6cc60d5d" "32cbe54014c2b54b9552»"
        leaves "discord_public_key = \"e7322523fb86ed64c836a979cf8465fbd436378c653c1db38f9ae87bc62a6fd5\"",
            "sourcegraph/sourcegraph@8d99d19bdd0b6cc60d5d32cbe54014c2b54b9552",
            "facebook api: version_of_the_graph_interface_12"
    rule "OpenShift token", &["sha256~"], r"sha256~[A-Za-z0-9_-]{43}", is_random;
        redacts "oc login --token=«sha256~" "FAKEaDNBZZdPaRXLujTpwrkcrOg258LewmCNQ7bxZ9w»"
        leaves "sha256~digest"
    rule "Octopus Deploy key", &["api-"], r"API-[A-Z0-9]{26}\b", is_random;
        redacts "«API-" "FAKE3ZNVYHFR2MF8L4QJ0TW9XB»"
        leaves "API-INTEGRATIONTESTSUITERUNNERS", "api-version"
    rule "Telegram bot token", &[":aa"], "[0-9]{6,12}:AA[A-Za-z0-9_-]{30,}", is_not_dummy,
        Start::Back(u8::is_ascii_digit, 12);
        redacts "«2794088840:" "AAFAKEAYcfONvXFMzq8D3ab7uKPudANTU1v»"
        redacts "https://api.telegram.org/bot«123456789:" "AAFAKEkfbjnjHX1fw0xBwIRL3JjQMKvoVNq»/getMe"
        leaves "12:AAAA", "[fe80::aa]"
    rule "Twilio key", &["sk"], r"SK[0-9a-f]{32}\b";
        redacts "«SK" "f19e8b8480f3b47c20431658b4550b7e»"
        leaves "SKIP", "SKxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    rule "SendGrid key", &["sg."], r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}";
        redacts "«SG." "FAKE3FnO6w5ZyDnuY5bgQU.aeZP6zR3wdoKyA66y8QO3obqbqTBpownuWBPrt4FnKY»"
        leaves "msg.sender.name"
    rule "Mailgun key", &["key-", "pubkey-"], r"(?:pub)?key-[0-9a-f]{32}\b", is_not_dummy, Start::Run;
        redacts "«key-" "5f84992a0f75ae616b1e5d490340494b»"
        leaves "key-value-store-with-a-long-name", "cache-key-d41d8cd98f00b204e9800998ecf8427e"
    rule "Mailchimp key", &["-us"], r"[0-9a-f]{32}-us[0-9]{1,2}\b", is_not_dummy,
    Start::Back(u8::is_ascii_hexdigit, 32);
        redacts "«35ec2daca1760147d301a233f4d05743" "-us12»"
    rule "mail service key", &["xkeysib-", "xsmtpsib-", "re_"],
        concat!(
            "(?:x(?:key|smtp)sib-[0-9a-f]{64}(?:-[A-Za-z0-9]{16})?",
            r"|re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24})\b",
        ),
        is_random;
        redacts "«xkeysib-"
            "bf2b672850882161db80a1e9ad8cdadc4ccd4078c763211caeae0ffac7cb2c8a-FAKEeOZIQo7NWqq6»"
        redacts "«re_" "FAKE1E2U_wHLEKoje7WHxHnHk0xpRlj0Q»"
        leaves "re_compiled_pattern_for_the_tokens"

    // Payment and shop services. Publishable keys (`pk_live_`) are public and stay.
    rule "Stripe key", &["sk_live_", "sk_test_", "rk_live_", "rk_test_", "sk_prod_", "rk_prod_", "sk_org_"],
        "[sr]k_(?:live|test|prod|org)_[A-Za-z0-9_]{10,}";
        redacts "«sk_" "test_FAKEDlO8025P36cuyx130BhA»"
        redacts "«sk_"
            "live_51FAKEjSqygxwQZHHtCQfrzsCShCOEUZlWHjaRixFHQpNxHvZyqbJmaKqdLltTIr6uqpq1CfHOF2fmiB9Ys"
            "NXx6cTCyx»"
        redacts "«rk_" "live_FAKEcTWsABPMZqwpy2Li7Nm2»"
        leaves "sk_test_connection_timeout", "rk_live_update_handler_of_rows", "sk_test_...",
            "sk_live_xxxxxxxxxxxxxxxxxxxxxxxx", "pk_live_51FAKEx1y2z3a4b5c6d7e8f9"
    rule "webhook secret", &["whsec_"], "whsec_[A-Za-z0-9+/=]{24,}";
        redacts "«whsec_" "FAKETLxeQnv3efWCyzHAF75PWYbgLKD7»"
    rule "hexadecimal secret key", &["sk_"], r"sk_[0-9a-f]{32,64}\b";
        redacts "«sk_" "eddf52ecf4076c19ace327203f26e16af1d4d14aa605882a»"
    rule "Shopify token", &["shpat_", "shpca_", "shppa_", "shpss_", "shptka_"],
        r"shp(?:at|ca|pa|ss|tka)_[0-9a-fA-F]{32}\b";
        redacts "«shpat_" "c89cd1997cd896416bef4ba6e1a02da1»"
        redacts "«shpss_" "87e966ece6615d3142f505f7965463e3»"
    rule "Square token", &["sq0"], "sq0[a-z]{3}-[A-Za-z0-9_-]{22,}", is_no_placeholder;
        redacts "«sq0atp-" "FAKEmYf8dAoQ1qT5CRBj3d»"
        redacts "«sq0csp-" "FAKE7Sick1CsWo3LZuTJUjt6quJ1nj8ZQozcuyjPsoP»"
    rule "Braintree token", &["access_token$production$"],
        r"access_token\$production\$[0-9a-z]{16}\$[0-9a-f]{32}";
        redacts "«access_token$production$" "8fm3jl1vzhcwhn77$29fb0f26f89264f879130b64915abef7»"
    rule "Plaid token", &["access-sandbox-", "access-production-", "access-development-"],
        "access-(?:sandbox|production|development)-[0-9a-f]{8}-[0-9a-f-]{27}",
        is_no_placeholder;
        redacts "«access-production-" "8a9783bf-0867-4e6e-a0eb-61232d8050fe»"
    rule "Flutterwave or Razorpay key", &["flwseck", "rzp_live_", "rzp_test_"],
        "(?:FLWSECK(?:_TEST)?-[A-Za-z0-9]{32}(?:-X)?|rzp_(?:live|test)_[A-Za-z0-9]{14,})",
        is_no_placeholder;
        redacts "«FLWSECK-" "ab5392e335ce1113d4db2b5b52a0f948-X»"
        redacts "«rzp_live_" "FAKEgg4phjFrII»"
    rule "EasyPost or Shippo key", &["ezak", "eztk", "shippo_live_", "shippo_test_"],
        "(?:EZ[AT]K[A-Za-z0-9]{54}|shippo_(?:live|test)_[0-9a-f]{40})";
        redacts "«EZAK" "FAKEhuDpkKIcGqx8mszJni6pU3IGp4gag8dFYYSKnSVofWkj1qbBzN»"
        redacts "«shippo_live_" "3932677172a31659a2e50add127454b4667a20f1»"

    // Other services.
    rule "Linear token", &["lin_api_", "lin_oauth_"], "lin_(?:api|oauth)_[A-Za-z0-9]{32,}";
        redacts "«lin_api_" "FAKEFHXv6eWMOem3Od2xYAfPTwLkZ9FRXVFiq1S7»"
        redacts "«lin_oauth_" "91e5dc9328776e7f1ccacc27ad909f03fdd9e4a62bce19a285ed7361c5c8a4b5»"
    rule "Notion token", &["ntn_", "secret_"], r"(?:ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43}\b)",
        is_random;
        redacts "«ntn_" "FAKEow40N459ztFu94GYMm219kzHaa2lg8pDKZQqVwRgJV»"
        redacts "«secret_" "FAKE3WGQyi7W5qQAeGNvCr9sxtQTORy8HZRd6PFFxSb»"
        leaves "secret_manager", "secret_rotationScheduleForTheDatabaseOfTheUsersX"
    rule "Airtable token", &["pat"], r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}\b";
        redacts "«pat" "FAKEd414RhJyCt.4e1af408461c58790dd2cfb8a5f1b461595919cb589f6aec38bcacf836ed5a14»"
        leaves "path", "patternMatchingIsFun.html"
    rule "Figma token", &["figd_", "figo_"], "fig[do]_[A-Za-z0-9_-]{30,}";
        redacts "«figd_" "FAKErWIEQJ2QAWerzxT6zHZs2OhqCXacI0SKtwM8»"
    rule "Grafana token", &["glc_", "glsa_"], "(?:glc_[A-Za-z0-9+/=]{40,}|glsa_[A-Za-z0-9]{32}_[0-9a-f]{8})";
        redacts "«glc_" "eyJFAKExqp4e4JgWMR1A1ZTh7tkPl9UOVShXzz18YV1vzzFZvw3lT3jIVHAQ75s==»"
        redacts "«glsa_" "FAKEinvRe7AeGa2KQpKBznKUrY2RY21i_477391c9»"
    rule "Sentry token", &["sntrys_", "sntryu_"], r"(?:sntrys_[A-Za-z0-9_+/=]{40,}|sntryu_[0-9a-f]{64}\b)";
        redacts "«sntryu_" "4c8286793b2b023a60e4e81e11e3f79aa766907508db2823ccd71ba82f4dee6a»"
        redacts "«sntrys_"
            "eyJFAKENmhzksWmeV5HbCXmYTVmXqmJWS1sVY8b6VUNUbewnAa13PUVOIqJwOkKOuwtgcVlSwA5bZTDXgvg=_2jx"
            "X4EFf6vYuE50i2gHKqGynwqQb86mTr80HBXUUykZ»"
    rule "New Relic key", &["nrak-", "nrii-", "nrjs-", "nral"],
        r"(?:NRAK-[A-Z0-9]{27}\b|NR(?:II|JS)-[A-Za-z0-9_-]{19,32}|[0-9a-f]{36}NRAL\b)", is_not_dummy,
        Start::Back(u8::is_ascii_hexdigit, 36);
        redacts "«NRAK-" "FAKE1IIAHN8YBAF3CN8EUV935NA»"
        redacts "«76bc3346eee21f5c7ff4" "3fc2770c7173601eNRAL»"
    rule "PostHog or Honeycomb key", &["phx_", "hcaik_"],
        "(?:phx_[A-Za-z0-9_-]{40,}|hca[il]k_[a-z0-9_]{50,})";
        redacts "«phx_" "FAKEdzp879oXRc7JOK6AqcjDbEW9gW4TgljZHkNGugG»"
        redacts "«hcaik_" "01yaeb9f698ed8s3za9nbl63nhn1hf87wgfpgfxrttsj5vmafechn7y30nfbdb»"
    rule "Postman key", &["pmak-"], r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}\b";
        redacts "«PMAK-" "4d159e8489b0ac35e5fa870d-0a7ba07a2531adab23e5617d266908d35e»"
    rule "Contentful token", &["cfpat-"], "CFPAT-[A-Za-z0-9_-]{40,}";
        redacts "«CFPAT-" "FAKENRkS8VsWzpvq9bfS3nPqN9PPVLjPeMeSzteeUeI»"
    rule "Dropbox token", &["sl."], r"sl\.(?:u\.)?[A-Za-z0-9_-]{60,}", is_random;
        redacts "«sl."
            "FAKEaexejJhUFPGS4r6XCl5gqtzASSlCU4g37Dvu1nby1Yog2nZwQvrNa2me5fkYQQLtQqlcjEg1dyqPfKLodesa"
            "r27i79wxIUlixYVqxxkHQh3p6YksWy7WboPm4oWy2x»"
        redacts "«sl."
            "u.FAKEpP5Eq3adgQy1xpsbECFhhDJTFfzhFE7l6oBCdhmerxCEp7vJdeGoEVnKN3972yhd8BHdpHkG3ungfEqD78"
            "DYUieZCOugnrQYxehTEEqlGaOPZG5bPERVcIPoXFQMiP»"
    rule "Facebook app token", &["access_token", "facebook", "fb_"],
        r"(?i:access_token|facebook|fb_)[^\r\n]{0,40}?\b[0-9]{15,16}(?:\||%7C)([A-Za-z0-9_-]{27,40})",
        is_random, Start::Anywhere;
        redacts "access_token=123456789012345|«FAKE" "ex1z2NBZ3dPaR4LujT5wrkc6»"
        redacts "facebook: 1234567890123456%7C«FAKE" "ex1z2NBZ3dPaR4LujT5wrkc6»"
        leaves "access_token 123456789012345|the-name-of-a-column-in-a-table"
    rule "Facebook token", &["eaa"], "EAA[A-Za-z0-9]{90,}", is_random;
        redacts "«EAA"
            "CEdEose0cBAFAKExjyZ48uVc22xQ5PlSobMD5UfCn2csCi1mtVuLm8ezbRkax8EoeExG28VFRnN5nm1EmtYDro9W"
            "ucAlvAQTbKxXkp01ajMZqMDEJJTyiqpJhr9Aj6iHiLu»"
    rule "Mapbox secret token", &["sk.eyj"], r"sk\.eyJ[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{10,}";
        redacts "«sk."
            "eyJ1IjoiFAKE4WdkoBkfL0CYAq4KQo3j9Vr98TAgdB60g9b5sesW9l3iAeHy2tZQPTGL.hCpFQHLRZx5H9JmBeL5" "qKy»"
    rule "1Password token", &["ops_eyj", "a3-"],
        concat!(
            "(?:ops_eyJ[A-Za-z0-9_=-]{60,}",
            "|A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5})",
        );
        redacts "«ops_"
            "eyJFAKEl3S9qPpAx9HqR0eSVdNREnRuZ6aCEvRWT9P4lD9uYoBf9nIAz9i5VoxVTxyQFXxioOn4rhcGi4zNAPeEL"
            "D8vKI»"
        redacts "«A3-" "FAKEWW-1UL4BKZXHS9-NPMXT-QKE3C-MA809»"
    rule "Yandex token", &["aqvn", "y0_", "y1_", "y2_", "t1."],
        concat!(
            "(?:AQVN[A-Za-z0-9_-]{35,38}|y[0-3]_[A-Za-z0-9_-]{50,}",
            r"|t1\.[A-Z0-9a-z_-]{40,}={0,2}\.[A-Z0-9a-z_-]{80,})",
        ),
        is_random;
        redacts "«AQVN" "FAKErbeZa1lfSpalolq5TYpbbhf7fmjEveHw»"
        redacts "«y0_" "AgAAAAFAKEusAVE3qvd7fqkqfeNdSqiY3UvvGFjmM7JZdWj1SBysTbotZe»"
    rule "Typeform token", &["tfp_"], "tfp_[A-Za-z0-9_.=-]{40,}";
        redacts "«tfp_" "FAKEZEgeLjmYTCZDY0oNf0QEKBiam7Lng1ODpWqGBHIv_UdboUboGsnOTSD»"
    rule "age secret key", &["age-secret-key-1"], "AGE-SECRET-KEY-1[A-Z0-9]{58}";
        redacts "«AGE-SECRET-KEY-1" "FAKEMLNTQIKDO3VTZU7TDUFSDU6PJLP3BMUH67X47TEGEY14EQ6O2U40X8»"
};

/// SSH key types of security keys (`sk-ssh-ed25519`) start like the keys of model providers.
fn is_random_key(found: &Found<'_>) -> bool {
    !found.value.starts_with("sk-ssh-") && !found.value.starts_with("sk-ecdsa-") && is_random(found)
}

fn is_azure_byte(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_~.-".contains(byte)
}

/// What a vendor calls public may be shown.
fn is_private_key_of_vendor(found: &Found<'_>) -> bool {
    !found.between.to_ascii_lowercase().contains("public") && is_random(found)
}
