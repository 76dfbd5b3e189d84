//! Keys of payment and shop services.
//!
//! Publishable keys (`pk_live_`) are meant to be seen and stay.

use super::super::rule::Rule;

pub(super) static RULES: &[Rule] = &[
    Rule::token(
        "Stripe key",
        &["sk_live_", "sk_test_", "rk_live_", "rk_test_", "sk_prod_", "rk_prod_", "sk_org_"],
        "[sr]k_(?:live|test|prod|org)_[A-Za-z0-9_]{10,}",
    )
    .redacts(&[
        concat!("«sk_", "test_FAKEDlO8025P36cuyx130BhA»"),
        concat!(
            "«sk_",
            "live_51FAKEjSqygxwQZHHtCQfrzsCShCOEUZlWHjaRixFHQpNxHvZyqbJmaKqdLltTIr6uqpq1CfHOF2fmiB9Ys",
            "NXx6cTCyx»"
        ),
        concat!("«rk_", "live_FAKEcTWsABPMZqwpy2Li7Nm2»"),
    ])
    .leaves(&["sk_test_...", "sk_live_xxxxxxxxxxxxxxxxxxxxxxxx", "pk_live_51FAKEx1y2z3a4b5c6d7e8f9"]),
    Rule::token("webhook secret", &["whsec_"], "whsec_[A-Za-z0-9+/=]{24,}")
        .redacts(&[concat!("«whsec_", "FAKETLxeQnv3efWCyzHAF75PWYbgLKD7»")]),
    Rule::token("hexadecimal secret key", &["sk_"], r"sk_[0-9a-f]{32,64}\b")
        .redacts(&[concat!("«sk_", "eddf52ecf4076c19ace327203f26e16af1d4d14aa605882a»")]),
    Rule::token(
        "Shopify token",
        &["shpat_", "shpca_", "shppa_", "shpss_", "shptka_"],
        r"shp(?:at|ca|pa|ss|tka)_[0-9a-fA-F]{32}\b",
    )
    .redacts(&[
        concat!("«shpat_", "c89cd1997cd896416bef4ba6e1a02da1»"),
        concat!("«shpss_", "87e966ece6615d3142f505f7965463e3»"),
    ]),
    Rule::token("Square token", &["sq0"], "sq0[a-z]{3}-[A-Za-z0-9_-]{22,}").redacts(&[
        concat!("«sq0atp-", "FAKEmYf8dAoQ1qT5CRBj3d»"),
        concat!("«sq0csp-", "FAKE7Sick1CsWo3LZuTJUjt6quJ1nj8ZQozcuyjPsoP»"),
    ]),
    Rule::token(
        "Braintree token",
        &["access_token$production$"],
        r"access_token\$production\$[0-9a-z]{16}\$[0-9a-f]{32}",
    )
    .redacts(&[concat!("«access_token$production$", "8fm3jl1vzhcwhn77$29fb0f26f89264f879130b64915abef7»")]),
    Rule::token(
        "Plaid token",
        &["access-sandbox-", "access-production-", "access-development-"],
        "access-(?:sandbox|production|development)-[0-9a-f]{8}-[0-9a-f-]{27}",
    )
    .redacts(&[concat!("«access-production-", "8a9783bf-0867-4e6e-a0eb-61232d8050fe»")]),
    Rule::token(
        "Flutterwave or Razorpay key",
        &["flwseck", "rzp_live_", "rzp_test_"],
        "(?:FLWSECK(?:_TEST)?-[A-Za-z0-9]{32}(?:-X)?|rzp_(?:live|test)_[A-Za-z0-9]{14,})",
    )
    .redacts(&[
        concat!("«FLWSECK-", "ab5392e335ce1113d4db2b5b52a0f948-X»"),
        concat!("«rzp_live_", "FAKEgg4phjFrII»"),
    ]),
    Rule::token(
        "EasyPost or Shippo key",
        &["ezak", "eztk", "shippo_live_", "shippo_test_"],
        "(?:EZ[AT]K[A-Za-z0-9]{54}|shippo_(?:live|test)_[0-9a-f]{40})",
    )
    .redacts(&[
        concat!("«EZAK", "FAKEhuDpkKIcGqx8mszJni6pU3IGp4gag8dFYYSKnSVofWkj1qbBzN»"),
        concat!("«shippo_live_", "3932677172a31659a2e50add127454b4667a20f1»"),
    ]),
];
