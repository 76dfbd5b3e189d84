//! Tokens of other services.
//!
//! What belongs to no other list and has a prefix of its own.

use super::super::honest::{is_no_stand_in, is_random};
use super::super::rule::{Found, Rule, Start};

pub(super) static RULES: &[Rule] = &[
    Rule::token("Linear token", &["lin_api_", "lin_oauth_"], "lin_(?:api|oauth)_[A-Za-z0-9]{32,}").redacts(
        &[
            concat!("«lin_api_", "FAKEFHXv6eWMOem3Od2xYAfPTwLkZ9FRXVFiq1S7»"),
            concat!("«lin_oauth_", "91e5dc9328776e7f1ccacc27ad909f03fdd9e4a62bce19a285ed7361c5c8a4b5»"),
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
        concat!("«ntn_", "FAKEow40N459ztFu94GYMm219kzHaa2lg8pDKZQqVwRgJV»"),
        concat!("«secret_", "FAKE3WGQyi7W5qQAeGNvCr9sxtQTORy8HZRd6PFFxSb»"),
    ])
    .leaves(&["secret_manager", "secret_rotationScheduleForTheDatabaseOfTheUsersX"]),
    Rule::token("Airtable token", &["pat"], r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}\b")
        .redacts(&[concat!(
            "«pat",
            "FAKEd414RhJyCt.4e1af408461c58790dd2cfb8a5f1b461595919cb589f6aec38bcacf836ed5a14»"
        )])
        .leaves(&["path", "patternMatchingIsFun.html"]),
    Rule::token("Figma token", &["figd_", "figo_"], "fig[do]_[A-Za-z0-9_-]{30,}")
        .redacts(&[concat!("«figd_", "FAKErWIEQJ2QAWerzxT6zHZs2OhqCXacI0SKtwM8»")]),
    Rule::token(
        "Grafana token",
        &["glc_", "glsa_"],
        "(?:glc_[A-Za-z0-9+/=]{40,}|glsa_[A-Za-z0-9]{32}_[0-9a-f]{8})",
    )
    .redacts(&[
        concat!("«glc_", "eyJFAKExqp4e4JgWMR1A1ZTh7tkPl9UOVShXzz18YV1vzzFZvw3lT3jIVHAQ75s==»"),
        concat!("«glsa_", "FAKEinvRe7AeGa2KQpKBznKUrY2RY21i_477391c9»"),
    ]),
    Rule::token(
        "Sentry token",
        &["sntrys_", "sntryu_"],
        r"(?:sntrys_[A-Za-z0-9_+/=]{40,}|sntryu_[0-9a-f]{64}\b)",
    )
    .redacts(&[
        concat!("«sntryu_", "4c8286793b2b023a60e4e81e11e3f79aa766907508db2823ccd71ba82f4dee6a»"),
        concat!(
            "«sntrys_",
            "eyJFAKENmhzksWmeV5HbCXmYTVmXqmJWS1sVY8b6VUNUbewnAa13PUVOIqJwOkKOuwtgcVlSwA5bZTDXgvg=_2jx",
            "X4EFf6vYuE50i2gHKqGynwqQb86mTr80HBXUUykZ»"
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
        concat!("«NRAK-", "FAKE1IIAHN8YBAF3CN8EUV935NA»"),
        concat!("«76bc3346eee21f5c7ff4", "3fc2770c7173601eNRAL»"),
    ]),
    Rule::token(
        "PostHog or Honeycomb key",
        &["phx_", "hcaik_"],
        "(?:phx_[A-Za-z0-9_-]{40,}|hca[il]k_[a-z0-9_]{50,})",
    )
    .redacts(&[
        concat!("«phx_", "FAKEdzp879oXRc7JOK6AqcjDbEW9gW4TgljZHkNGugG»"),
        concat!("«hcaik_", "01yaeb9f698ed8s3za9nbl63nhn1hf87wgfpgfxrttsj5vmafechn7y30nfbdb»"),
    ]),
    Rule::token("Postman key", &["pmak-"], r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}\b")
        .redacts(&[concat!("«PMAK-", "4d159e8489b0ac35e5fa870d-0a7ba07a2531adab23e5617d266908d35e»")]),
    Rule::token("Contentful token", &["cfpat-"], "CFPAT-[A-Za-z0-9_-]{40,}")
        .redacts(&[concat!("«CFPAT-", "FAKENRkS8VsWzpvq9bfS3nPqN9PPVLjPeMeSzteeUeI»")]),
    Rule::new("Dropbox token", &["sl."], Start::Word, r"sl\.(?:u\.)?[A-Za-z0-9_-]{60,}", is_random).redacts(
        &[
            concat!(
                "«sl.",
                "FAKEaexejJhUFPGS4r6XCl5gqtzASSlCU4g37Dvu1nby1Yog2nZwQvrNa2me5fkYQQLtQqlcjEg1dyqPfKLodesa",
                "r27i79wxIUlixYVqxxkHQh3p6YksWy7WboPm4oWy2x»"
            ),
            concat!(
                "«sl.",
                "u.FAKEpP5Eq3adgQy1xpsbECFhhDJTFfzhFE7l6oBCdhmerxCEp7vJdeGoEVnKN3972yhd8BHdpHkG3ungfEqD78",
                "DYUieZCOugnrQYxehTEEqlGaOPZG5bPERVcIPoXFQMiP»"
            ),
        ],
    ),
    Rule::new("Facebook token", &["eaa"], Start::Word, "EAA[A-Za-z0-9]{90,}", is_random_outside_base64)
        .redacts(&[concat!(
            "«EAA",
            "CEdEose0cBAFAKExjyZ48uVc22xQ5PlSobMD5UfCn2csCi1mtVuLm8ezbRkax8EoeExG28VFRnN5nm1EmtYDro9W",
            "ucAlvAQTbKxXkp01ajMZqMDEJJTyiqpJhr9Aj6iHiLu»"
        )]),
    Rule::token("Mapbox secret token", &["sk.eyj"], r"sk\.eyJ[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{10,}")
        .redacts(&[concat!(
            "«sk.",
            "eyJ1IjoiFAKE4WdkoBkfL0CYAq4KQo3j9Vr98TAgdB60g9b5sesW9l3iAeHy2tZQPTGL.hCpFQHLRZx5H9JmBeL5",
            "qKy»"
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
            "eyJFAKEl3S9qPpAx9HqR0eSVdNREnRuZ6aCEvRWT9P4lD9uYoBf9nIAz9i5VoxVTxyQFXxioOn4rhcGi4zNAPeEL",
            "D8vKI»"
        ),
        concat!("«A3-", "FAKEWW-1UL4BKZXHS9-NPMXT-QKE3C-MA809»"),
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
        concat!("«AQVN", "FAKErbeZa1lfSpalolq5TYpbbhf7fmjEveHw»"),
        concat!("«y0_", "AgAAAAFAKEusAVE3qvd7fqkqfeNdSqiY3UvvGFjmM7JZdWj1SBysTbotZe»"),
    ]),
    Rule::token("Typeform token", &["tfp_"], "tfp_[A-Za-z0-9_.=-]{40,}")
        .redacts(&[concat!("«tfp_", "FAKEZEgeLjmYTCZDY0oNf0QEKBiam7Lng1ODpWqGBHIv_UdboUboGsnOTSD»")]),
    Rule::token("age secret key", &["age-secret-key-1"], "AGE-SECRET-KEY-1[A-Z0-9]{58}").redacts(&[concat!(
        "«AGE-SECRET-KEY-1",
        "FAKEMLNTQIKDO3VTZU7TDUFSDU6PJLP3BMUH67X47TEGEY14EQ6O2U40X8»"
    )]),
];

fn is_hex(byte: u8) -> bool {
    byte.is_ascii_hexdigit()
}

/// Pictures in base64 have such runs, but after a slash or a plus.
fn is_random_outside_base64(found: &Found<'_>) -> bool {
    !found.before.ends_with(['/', '+']) && is_random(found)
}
