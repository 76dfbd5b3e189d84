//! Tokens of code forges.
//!
//! Their prefixes were made for scanners, so a prefix and a length are enough.

use super::super::rule::Rule;

pub(super) static RULES: &[Rule] = &[
    Rule::token("GitHub token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], "gh[pousr]_[A-Za-z0-9]{30,}")
        .redacts(&[
            concat!("token: «ghp_", "FAKE770H2DCpYgojjHRg80USP2W5DfJXcaYi»"),
            concat!("«gho_", "FAKEoK6cPTt9iOqHOBSWhgetH8LmyqoYMaaI»"),
            concat!("«ghu_", "FAKEtDr9uP14pEHpJpb9ATPtdbmF4RPAfqoQ»"),
            concat!("https://x-access-token:«ghs_", "FAKEB7xoFcSvTAxRzmaZsV2GenFmtX0moDoq»"),
            concat!("«ghr_", "FAKEW4sg8NFNl5oFA6Qd8Mj7zdnbMjAdTdlz»"),
        ])
        .leaves(&[
            "token = \"ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"",
            "let re = Regex::new(r\"gh[pousr]_[A-Za-z0-9]{36}\").unwrap();",
            "ghp_short",
        ]),
    Rule::token("GitHub fine-grained token", &["github_pat_"], "github_pat_[A-Za-z0-9_]{36,}")
        .redacts(&[concat!(
            "«github_pat_",
            "FAKEC5T4uUhf7kvmlP7HVD_ctQUy1xvCkgafrfwA94hJ9WnywX0t0ZBfdTEmxI6CmuxV5EbOApZOXzcycD»"
        )])
        .leaves(&["github_pat_<yours>"]),
    Rule::token(
        "GitLab token",
        &[
            "glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-", "glagent-", "gloas-",
            "glimt-", "glffct-", "glrtr-",
        ],
        concat!(
            "gl(?:pat|dt|rt|rtr|cbt|ptt|ft|soat|agent|oas|imt",
            r"|ffct)-[A-Za-z0-9_-]{20,}(?:\.[A-Za-z0-9_-]{2,}){0,2}"
        ),
    )
    .redacts(&[
        concat!("«glpat-", "FAKEeZ6dqmVe5Mvxrv99»"),
        concat!("«gldt-", "FAKENcqVTSu7rtaUWM6Z»"),
        concat!("«glpat-", "FAKEO88eb0ogET9D9XyYq6B0Fi7.01.5latjpuu3»"),
        concat!("«glcbt-", "64_FAKExYYMfGmzWkpAePcE»"),
    ])
    .leaves(&["glpat-xxxxxxxxxxxxxxxxxxxx"]),
    Rule::token("GitLab runner registration token", &["gr1348941"], "GR1348941[A-Za-z0-9_-]{20,}")
        .redacts(&[concat!("«GR1348941", "FAKEJIukB4geqNfngAFT»")]),
    Rule::token(
        "Atlassian token",
        &["atatt3", "atctt3", "atbb", "atoa"],
        r"(?:AT[AC]TT3[A-Za-z0-9_=-]{50,}|ATBB[A-Za-z0-9]{32}\b|ATOA[A-Za-z0-9_-]{40,})",
    )
    .redacts(&[
        concat!("«ATATT3", "xFfGF0FAKECloiADN5RpVI2XQWhX1ssrKrxqVqmCplppjs46LmuezqpGHoPZgPDcga=A1B2C3D4»"),
        concat!("«ATBB", "FAKEE40o1C6xc4sohdmM0Lm7exG3lCMq»"),
        concat!("«ATCTT3", "xFfGN0FAKEXXQ8agOMTNwncxvjcnqcMUP6n0a0uARxlNtencYFJEeAgYzQJjOIfPkz»"),
    ]),
    Rule::token(
        "Sourcegraph or Sonar token",
        &["sgp_", "squ_", "sqp_", "sqa_"],
        r"(?:sgp_(?:[0-9a-f]{16}_|local_)?[0-9a-f]{40}|sq[uap]_[0-9a-f]{40})\b",
    )
    .redacts(&[
        concat!("«sgp_", "8d99d19bdd0b6cc60d5d32cbe54014c2b54b9552»"),
        concat!("«squ_", "3cf6941fa1c257c6f561c5cb347611a3ce9d97dc»"),
        concat!("«sgp_", "bee500fe7ee5fc32_4bdb2e1142a21c402364f9572b85a8e48f687ab1»"),
    ]),
    Rule::token(
        "build service token",
        &["bkua_", "ccipat_", "cciprj_"],
        "(?:bkua_[0-9a-f]{40}|CCIP(?:AT|RJ)_[A-Za-z0-9]{22}_[0-9a-f]{40})",
    )
    .redacts(&[
        concat!("«bkua_", "65c58ac5831be38cb8cb4ba2e751989a01749ddb»"),
        concat!("«CCIPAT_", "FAKE5diFoNPcbdaKwtgHwI_7d946bf54074e3248c801bef750110c57513064d»"),
    ]),
];
