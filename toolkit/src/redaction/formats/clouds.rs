//! Keys of clouds and hosting.
//!
//! Identifiers that are no secret without their key (account ids, ARNs) are left alone.

use super::super::honest::{is_no_stand_in, is_random};
use super::super::rule::{Rule, Start};

pub(super) static RULES: &[Rule] = &[
    Rule::new(
        "AWS key id with its secret",
        &["akia", "asia"],
        Start::Word,
        r#"A[KS]IA[A-Z0-9]{16}["']?[ \t]*[,:;|][ \t]*["']?([A-Za-z0-9/+=]{40})\b"#,
        is_random,
    )
    .redacts(&[concat!("AKIA", "FAKEEM49OJW03S9I,«FAKEX1EwY2orTyRqBRlE", "/aZUZrwpPtuEFBNOfQ5x»")]),
    Rule::token("AWS key id", &["akia", "asia", "abia", "acca"], r"A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}\b")
        .redacts(&[
            concat!("aws_access_key_id = «AKIA", "FAKEJTYDFUI7WAAN»"),
            concat!("«ASIA", "FAKEESQGJOL2WJNZ»"),
        ])
        .leaves(&["AKIAIOSFODNN7EXAMPLE", "AKIAXXXXXXXXXXXXXXXX", "AKIA[0-9A-Z]{16}", "ASIAPACIFICREGION"]),
    Rule::token(
        "AWS Bedrock key",
        &["absk", "bedrock-api-key-"],
        "(?:ABSK[A-Za-z0-9+/]{90,}={0,2}|bedrock-api-key-[A-Za-z0-9+/=]{40,})",
    )
    .redacts(&[
        concat!(
            "«ABSK",
            "FAKEYIkN5SMYfQ55JYO1tmFSnHfV1CQ4hJhqAo0iEFJdED5jSFpFkIM3Vak1uDSKFQs1DxBA9RelOxOPbbNcRV7v",
            "ZgGEFW5jcnTAOivg3Qxv=»"
        ),
        concat!("«bedrock-api-key-", "FAKEEXHJX6nsBvBqJd0ssw0FzvGr3GwnPFYhvmuTtiLOfYczUJ4zIKdztgac»"),
    ]),
    Rule::new(
        "signature of a prepared request",
        &["x-amz-signature=", "x-goog-signature="],
        Start::Anywhere,
        "X-(?:Amz|Goog)-Signature=([0-9a-f]{64,})",
        is_no_stand_in,
    )
    .redacts(&[concat!(
        "https://b.s3.invalid/k?X-Amz-Expires=60&X-Amz-Signature=«6f1c4261e5351d30b49895d1a0d1f1",
        "3dce20c4fd32f640d0032634f087e51b42»&x=1"
    )]),
    Rule::token("Google key", &["aiza"], "AIza[A-Za-z0-9_-]{35,}")
        .redacts(&[
            concat!("«AIza", "SyFAKEsOJTFDQ74q69dTcada4PR0NfyttUM»"),
            concat!("?key=«AIza", "SyFAKEk931FMdux8KUCERkj9Zhx9PkOZAEy»&x=1"),
        ])
        .leaves(&["AIzaSyXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX"]),
    Rule::token(
        "Google OAuth",
        &["gocspx-", "ya29.", "1//0", "aq.ab"],
        concat!(
            r"(?:GOCSPX-[A-Za-z0-9_-]{20,}|ya29\.[A-Za-z0-9_.-]{20,}|1//0[A-Za-z0-9_-]{30,}",
            r"|AQ\.Ab[A-Za-z0-9_-]{40,})"
        ),
    )
    .redacts(&[
        concat!("«GOCSPX-", "FAKEXYC8rYWKvsrdNPTZ0Mv3MUa1»"),
        concat!("«ya29.", "a0FAKEjM1tLB4pyyRyMX5oZCsSauqrBkL60W4Ycs1jZ43Kjr2ZZJRX6FwIfIJF»"),
        concat!("«1//0", "gFAKEZymYWU7otMdRzDTn7qLWaYyDIfIZwXeozLH5q41HuEGLmm»"),
        concat!("«AQ.", "Ab8RFAKEnmflZSsxKKwzXH2jpc7Fx3gxODYfjuMbwrHMbgcn3»"),
    ]),
    Rule::new(
        "Azure account key",
        &["accountkey=", "sharedaccesskey="],
        Start::Anywhere,
        "(?:Account|SharedAccess)Key=([A-Za-z0-9+/]{40,}={0,2})",
        is_no_stand_in,
    )
    .redacts(&[
        concat!(
            "AccountName=x;AccountKey=«FAKE",
            "3KFLKnq7XrBg8CXL0M9iq1cvmlyfbdcJx3TDF8265e3MOz7hT9fquKoPf96QGzlC2kx9pUolc8q8wd5J5b==»;En",
            "dpointSuffix=core.windows.net"
        ),
        concat!("Endpoint=sb://x/;SharedAccessKey=«FAKE", "16dqYGTVPWEdgjuWa8mRVtLLCWPgEuxqyhxEykC=»"),
    ])
    .leaves(&["AccountKey=<key>"]),
    Rule::new("Azure signature", &["sig="], Start::Word, "sig=([A-Za-z0-9%+/_-]{36,}={0,2})", is_random)
        .redacts(&[concat!(
            "https://x.blob.core.windows.net/c?sv=2024-01-01&sig=«FAKE",
            "pZj6R5aDT6mZck71oe7N3x4ViXC9g77y1bOeCvu%3D»&se=1"
        )])
        .leaves(&["the sig=value"]),
    Rule::new(
        "Azure client secret",
        &["8q~"],
        Start::Back(is_azure_byte, 3),
        "[A-Za-z0-9_~.-]{3}8Q~[A-Za-z0-9_~.-]{31,34}",
        is_no_stand_in,
    )
    .redacts(&[concat!("«aB1", "8Q~FAKE0oEhOxjvoVdlTCJ4jC3jrAApjbrK1s»")]),
    Rule::new(
        "Azure DevOps token",
        &["azdo"],
        Start::Back(is_letter_or_digit, 76),
        r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}\b",
        is_no_stand_in,
    )
    .redacts(&[concat!(
        "«FAKEvZkqFguD5EhjGdO5YQ7nJE1shqWmxBqp7pgy",
        "sA5kd1UsjObCZGvGiCaY18HslxBc6AnrKli1AZDOlHXo»"
    )]),
    Rule::token("DigitalOcean token", &["dop_v1_", "doo_v1_", "dor_v1_"], r"do[por]_v1_[0-9a-f]{64}\b")
        .redacts(&[
            concat!("«dop_v1_", "5622f856469602d1ba9f20df4875b15b0be23b7ac193fe04072755398003680e»"),
            concat!("«doo_v1_", "7e3b35183ef8333c4774ec50cd1c1bac7adac1a4b7d0b352ad6074dce1118813»"),
        ]),
    Rule::token("Databricks token", &["dapi", "dkea", "dose"], r"d(?:api|kea|ose)[0-9a-f]{32}(?:-[0-9])?\b")
        .redacts(&[
            concat!("«dapi", "830d71939b53182e4e349d98729e7c6b»"),
            concat!("«dapi", "e9ff907a76cc0b57aaf89691052be1ce-2»"),
        ])
        .leaves(&["dapixxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    Rule::new(
        "Alibaba or Tencent key id",
        &["ltai", "akid"],
        Start::Word,
        r"(?:LTAI[A-Za-z0-9]{16,26}|AKID[A-Za-z0-9]{32})\b",
        is_random,
    )
    .redacts(&[
        concat!("«LTAI", "5tFAKEwVWgHo9RV7jAvQ»"),
        concat!("«AKID", "FAKEwiRmNN2r01HgV2V7WErYOTO6TiA3»"),
    ])
    .leaves(&["LTAITISALONGUPPERCASEWORD"]),
    Rule::token("HashiCorp Vault token", &["hvs.", "hvb.", "hvr."], r"hv[sbr]\.[A-Za-z0-9_-]{20,}").redacts(
        &[
            concat!(
                "«hvs.",
                "CAESFAKEgaAXJLhFz9KjA2Yr3NMhy2CSDsUwswzHJMyPuaYV2FyCtlItZjBKyLof06vu1M1p9unB569abdqK5Ft6",
                "IXtINB»"
            ),
            concat!("«hvb.", "AAAAAQFAKEH0HURByDwcMRwC8aReHogAxGzPJ7Kj4m9AFzCXN5LvSHV0fkxuxe0tGl»"),
        ],
    ),
    Rule::new(
        "Terraform Cloud token",
        &[".atlasv1."],
        Start::Back(is_letter_or_digit, 14),
        r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}",
        is_no_stand_in,
    )
    .redacts(&[concat!(
        "«FAKEhP5sSv07G4",
        ".atlasv1.AOkHs0GnG5mAldOKMgwKOOUcSAaYatTSJa6tz1gLaQbmlFXJKr3P5IGjKmAMhjkHWGg»"
    )]),
    Rule::new(
        "hosting token",
        &[
            "hrku-",
            "fo1_",
            "fm1_",
            "fm2_",
            "nfp_",
            "rnd_",
            "sbp_",
            "sb_secret_",
            "pscale_",
            "napi_",
            "vercel_",
            "pul-",
            "dp.",
        ],
        Start::Word,
        concat!(
            "(?:HRKU-[A-Za-z0-9_-]{36,}|fo1_[A-Za-z0-9_-]{40,}|fm[12]_[A-Za-z0-9+/_=-]{60,}",
            r"|nfp_[A-Za-z0-9]{36,}|rnd_[A-Za-z0-9]{28,}|sbp_(?:v0_)?[0-9a-f]{40}\b",
            "|sb_secret_[A-Za-z0-9_-]{30,}|pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{30,}",
            r"|napi_[a-z0-9]{50,}|pul-[0-9a-f]{40}\b",
            r"|dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{30,})"
        ),
        is_random,
    )
    .redacts(&[
        concat!("«HRKU-", "8a9783bf-0867-4e6e-a0eb-61232d8050fe»"),
        concat!("«fo1_", "FAKEbgek8HF0DNBZZdPaRXLujTpwrkcrOg258LewmCN»"),
        concat!("«fm2_", "FAKEybdo4zLW9cCdNppock7L2lua530DtAMq94F8epRyRTLoAtz4TFbY3pflkwyla4szJxhvI3yvzPe9»"),
        concat!("«nfp_", "FAKEhB06wJpymDswpBcrQbvZjpTifmrI1YiJ»"),
        concat!("«rnd_", "FAKECD1YZpkxwnUzyO9Lnt8EGno2»"),
        concat!("«sbp_", "e48eb7c64328c0490c257a632b96292794c9bce4»"),
        concat!("«sb_secret_", "FAKE7rlbxRZQSw5AbQTSDp2zw5Oglsh»"),
        concat!("«pscale_tkn_", "FAKEr6MUoTRczcMkBmWtjyVcJtOO8lK1oKFTHq7BQRK»"),
        concat!("«napi_", "wahscdphcunwf0zor7fw12v626dn16i5mc9ql8kp8qpdkww0fmtii54ppa62iwti»"),
        concat!("«pul-", "47a3d54ec6390bf61189639e35aeeb95210ef2a8»"),
        concat!("«dp.", "pt.FAKEgPF9BFmYIuaw6fPsON7UPSqPpfiVbbXz1jsxl9O»"),
    ])
    .leaves(&["napi_create_function", "rnd_generator_with_a_name_that_is_long", "dp.st.rows"]),
    Rule::token(
        "network token",
        &["tskey-", "cfut_", "cfat_"],
        "(?:tskey-[a-z]+-[A-Za-z0-9]{10,}-[A-Za-z0-9]{20,}|cf[ua]t_[A-Za-z0-9]{40,})",
    )
    .redacts(&[
        concat!("«tskey-", "auth-FAKEH257RkgY-U1tVNuylP0wuoxiJ6x11qpdcgKZO60Tz»"),
        concat!("«cfut_", "FAKE5d8nFBFUktMLOfjSokiCOzfc2CEmnUxac1N21YGBjseQ»"),
    ]),
];

fn is_azure_byte(byte: u8) -> bool {
    is_letter_or_digit(byte) || b"_~.-".contains(&byte)
}

fn is_letter_or_digit(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}
