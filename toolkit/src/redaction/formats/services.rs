//! Tokens of other services.
//!
//! What belongs to no other list and has a prefix of its own.

use super::super::honest::{is_no_stand_in, is_random};
use super::super::rule::{Rule, Start};

pub(super) static RULES: &[Rule] = &[
    Rule::token("Linear token", &["lin_api_", "lin_oauth_"], "lin_(?:api|oauth)_[A-Za-z0-9]{32,}").redacts(
        &[
            concat!("«lin_api_", "FAKELDJp4FK67R4TdzQYzYORX8v0yz8foPR1YvQM»"),
            concat!("«lin_oauth_", "d909f03fdd9e4a62bce19a285ed7361c5c8a4b57bc9fa65c00537e8b3c48d2ae»"),
        ],
    ),
    Rule::new(
        "Notion token",
        &["ntn_", "secret_"],
        Start::Word,
        r"(?:ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43}\b)",
        is_random,
    )
    .redacts(&[
        concat!("«ntn_", "FAKEr9sxtQTORy8HZRd6PFFxSbd414RhJyCtWG5jUMVDc8»"),
        concat!("«secret_", "FAKEuEia875rjmL6KGczlVLPrOWpsXIbAJAPfZ8ROyF»"),
    ])
    .leaves(&["secret_manager", "secret_rotationScheduleForTheDatabaseOfTheUsersX"]),
    Rule::token("Airtable token", &["pat"], r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}\b")
        .redacts(&[concat!(
            "«pat",
            "FAKE9TxS5ruk1K.f1b461595919cb589f6aec38bcacf836ed5a148fd28cbc938e019bb8723d3955»"
        )])
        .leaves(&["path", "patternMatchingIsFun.html"]),
    Rule::token("Figma token", &["figd_", "figo_"], "fig[do]_[A-Za-z0-9_-]{30,}")
        .redacts(&[concat!("«figd_", "FAKE9UOVShXzz18YV1vzzFZvw3lT3jIVHAQ75sin»")]),
    Rule::token(
        "Grafana token",
        &["glc_", "glsa_"],
        "(?:glc_[A-Za-z0-9+/=]{40,}|glsa_[A-Za-z0-9]{32}_[0-9a-f]{8})",
    )
    .redacts(&[
        concat!("«glc_", "eyJFAKEvRe7AeGa2KQpKBznKUrY2RY21ijoQ2WpGh5s5cV07Py4siPT4TyN5rTe==»"),
        concat!("«glsa_", "FAKEXMM0GrMn5otgxRK4ZfxbSHeh19un_0e4e81e1»"),
    ]),
    Rule::token(
        "Sentry token",
        &["sntrys_", "sntryu_"],
        r"(?:sntrys_[A-Za-z0-9_+/=]{40,}|sntryu_[0-9a-f]{64}\b)",
    )
    .redacts(&[
        concat!("«sntryu_", "1e3f79aa766907508db2823ccd71ba82f4dee6a63c59620e66869002b6d08b5a»"),
        concat!(
            "«sntrys_",
            "eyJFAKEwtgcVlSwA5bZTDXgvg2jxX4EFf6vYuE50i2gHKqGynwqQb86mTr80HBXUUykZ51BiiahnULIyba0=_1Yf",
            "DXcn4KI6e2uvNJ4DFXO5napn5wy4ggL4i8mCDKL6»"
        ),
    ]),
    Rule::new(
        "New Relic key",
        &["nrak-", "nrii-", "nrjs-", "nral"],
        Start::Back(is_hex, 36),
        r"(?:NRAK-[A-Z0-9]{27}\b|NR(?:II|JS)-[A-Za-z0-9_-]{19,32}|[0-9a-f]{36}NRAL\b)",
        is_no_stand_in,
    )
    .redacts(&[
        concat!("«NRAK-", "FAKE2ED4KZP44JH5YEPOAZOCPGM»"),
        concat!("«01e1c771d814e0f33545", "a3c0202219ec0605NRAL»"),
    ]),
    Rule::token(
        "PostHog or Honeycomb key",
        &["phx_", "hcaik_"],
        "(?:phx_[A-Za-z0-9_-]{40,}|hca[il]k_[a-z0-9_]{50,})",
    )
    .redacts(&[
        concat!("«phx_", "FAKE1GZ1DnhTPVnQBhNfIHwRgfUp242gfxrttWsjFMK»"),
        concat!("«hcaik_", "01vmafechn7y30nfbdbi1dls2qiqtwbuygk2k4urpa08bvo8wvapvf8kgcu1vx»"),
    ]),
    Rule::token("Postman key", &["pmak-"], r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}\b")
        .redacts(&[concat!("«PMAK-", "23e5617d266908d35e59c7a8-0268422c922202b243f8e5389cd5e3eaa6»")]),
    Rule::token("Contentful token", &["cfpat-"], "CFPAT-[A-Za-z0-9_-]{40,}")
        .redacts(&[concat!("«CFPAT-", "FAKEby1Yog2nZwQvrNa2me5fkYQQLtQqlcjEg1dyqPf»")]),
    Rule::new("Dropbox token", &["sl."], Start::Word, r"sl\.(?:u\.)?[A-Za-z0-9_-]{60,}", is_random).redacts(
        &[
            concat!(
                "«sl.",
                "FAKEKLodesar27i79wxIUlixYVqxxkHQh3p6YksWy7WboPm4oWy2xpP5Eq3adgQy1xpsbECFhhDJTFfzhFE7l6oB",
                "CdhmerxCEp7vJdeGoEVnKN3972yhd8BHdpHkG3ungf»"
            ),
            concat!(
                "«sl.",
                "u.FAKEEqD78DYUieZCOugnrQYxehTEEqlGaOPZG5bPERVcIPoXFQMiPxjyZ48uVc22xQ5PlSobMD5UfCn2csCi1m",
                "tVuLm8ezbRkax8EoeExG28VFRnN5nm1EmtYDro9WucAl»"
            ),
        ],
    ),
    Rule::new("Facebook token", &["eaa"], Start::Word, "EAA[A-Za-z0-9]{90,}", is_random).redacts(&[concat!(
        "«EAA",
        "CEdEose0cBAFAKEvAQTbKxXkp01ajMZqMDEJJTyiqpJhr9Aj6iHiLu4WdkoBkfL0CYAq4KQo3j9Vr98TAgdB60g9",
        "b5sesW9l3iAeHy2tZQPTGLhCpFQHLRZx5H9JmBeL5qK»"
    )]),
    Rule::token("Mapbox secret token", &["sk.eyj"], r"sk\.eyJ[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{10,}")
        .redacts(&[concat!(
            "«sk.",
            "eyJ1IjoiFAKEyl3S9qPpAx9HqR0eSVdNREnRuZ6aCEvRWT9P4lD9uYoBf9nIAz9i5Vox.VTxyQFXxioOn4rhcGi4",
            "zNA»"
        )]),
    Rule::token(
        "1Password token",
        &["ops_eyj", "a3-"],
        concat!(
            "(?:ops_eyJ[A-Za-z0-9_=-]{60,}",
            "|A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5})"
        ),
    )
    .redacts(&[
        concat!(
            "«ops_",
            "eyJFAKEPeELD8vKIwwTWBulZESbRRXkzxh9OXs1JPnOpTL9XmxX2tPqk0eMD2Q4XLcm5aMIAUJrbeZa1lfSpalol",
            "q5TYp»"
        ),
        concat!("«A3-", "FAKEBB-HFFMJ4VE7WU-S04QV-DFQKQ-FEDQI»"),
    ]),
    Rule::new(
        "Yandex token",
        &["aqvn", "y0_", "y1_", "y2_", "t1."],
        Start::Word,
        concat!(
            "(?:AQVN[A-Za-z0-9_-]{35,38}|y[0-3]_[A-Za-z0-9_-]{50,}",
            r"|t1\.[A-Z0-9a-z_-]{40,}={0,2}\.[A-Z0-9a-z_-]{80,})"
        ),
        is_random,
    )
    .redacts(&[
        concat!("«AQVN", "FAKEY3UvvGFjmM7JZdWj1SBysTbotZeZEgeL»"),
        concat!("«y0_", "AgAAAAFAKEjmYTCZDY0oNf0QEKBiam7Lng1ODpWqGBHIvUdboUboGsnOTS»"),
    ]),
    Rule::token("Typeform token", &["tfp_"], "tfp_[A-Za-z0-9_.=-]{40,}")
        .redacts(&[concat!("«tfp_", "FAKEDNm5lntQ5qikdoDXv0TTR9SYZtzuHUtdXMufsduG_pjl7O4pDbmuhYG»")]),
    Rule::token("age secret key", &["age-secret-key-1"], "AGE-SECRET-KEY-1[A-Z0-9]{58}").redacts(&[concat!(
        "«AGE-SECRET-KEY-1",
        "FAKE7X47TEGEY14EQ6O2U40X82UDG3FRIC9IE3CTEV17FJZGDCSI7GEUK8»"
    )]),
];

fn is_hex(byte: u8) -> bool {
    byte.is_ascii_hexdigit()
}
