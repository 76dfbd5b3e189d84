//! Random tokens in the real format of each vendor, in the places where tokens stand: none may be missed.

use super::super::rule::{Rule, Start};
use super::super::{PLACEHOLDER, Redactor};
use super::vendors;

/// Of each format.
const TOKENS: usize = 400;

/// Formats: braces hold an alphabet and a number of random characters; the rest is as it stands.
/// `A` letters, `B` letters and digits, `U` capitals and digits, `l` small letters and digits, `h`
/// hexadecimal,
/// `w` base64 of addresses, `d` digits.
const FORMATS: &str = "\
    sk-proj-{w48} sk-proj-{w156} sk-svcacct-{w48} sk-admin-{w48} sk-ant-api03-{w93}AA \
    sk-ant-oat01-{w80}AA sk-or-v1-{h64} sk-{B48} sk-{B20}T3BlbkFJ{B20} sk-{h32} gsk_{B52} csk-{l48} \
    xai-{B80} hf_{A34} api_org_{A34} r8_{B37} pplx-{B48} nvapi-{w64} tvly-{B32} tvly-dev-{B32} \
    pcsk_{B5}_{B63} fc-{h32} jina_{h32}{w28} e2b_{h40} lsv2_pt_{h32}_{h10} fw_{B24} ghp_{B36} gho_{B36} \
    ghu_{B36} ghs_{B36} ghr_{B36} github_pat_{B22}_{B59} glpat-{w20} gldt-{w20} glrt-{w20} \
    glcbt-{h2}_{w20} glptt-{h40} GR1348941{w20} ATATT3xFfGF0{w171}={h8} ATBB{B32} sgp_{h40} squ_{h40} \
    bkua_{h40} CCIPAT_{B22}_{h40} npm_{B36} pypi-AgEIcHlwaS5vcmc{w120} rubygems_{h48} cio{B32} oy2{l43} \
    dckr_pat_{w27} dckr_oat_{w32} CLOJARS_{h60} AKCp{B69} AKIA{U16} ABSK{B110}== ASIA{U16} AIza{w35} \
    GOCSPX-{w28} ya29.{w120} 1//0{w60} dop_v1_{h64} dapi{h32} LTAI5t{B18} AKID{B32} hvs.{w90} hvb.{w100} \
    {B14}.atlasv1.{w67} HRKU-{h8}-{h4}-{h4}-{h4}-{h12} fo1_{w43} nfp_{B36} rnd_{B28} sbp_{h40} \
    sb_secret_{w31} pscale_tkn_{w43} napi_{l64} pul-{h40} dp.pt.{B43} tskey-auth-{B12}CNTRL-{B32} \
    cfut_{B48} xoxb-{d12}-{d12}-{B24} xoxp-{d12}-{d12}-{d12}-{h32} xapp-1-A{U10}-{d13}-{h64} sha256~{w43} \
    API-{U26} {d10}:AA{w33} SK{h32} SG.{w22}.{w43} key-{h32} {h32}-us12 xkeysib-{h64}-{B16} re_{B8}_{B24} \
    sk_live_{B24} sk_live_51{B97} sk_test_{B24} rk_live_{B24} whsec_{B32} sk_{h48} shpat_{h32} \
    sq0atp-{w22} access_token$production${l16}${h32} access-production-{h8}-{h4}-{h4}-{h4}-{h12} \
    FLWSECK-{h32}-X rzp_live_{B14} EZAK{B54} shippo_live_{h40} lin_api_{B40} ntn_{B46} secret_{B43} \
    pat{B14}.{h64} figd_{w40} glc_{B80} glsa_{B32}_{h8} sntryu_{h64} NRAK-{U27} phx_{B43} hcaik_01{l56} \
    PMAK-{h24}-{h34} CFPAT-{w43} sl.{w136} EAA{B180} sk.eyJ{w80}.{w22} A3-{U6}-{U11}-{U5}-{U5}-{U5} \
    AQVN{w36} y0_{w55} tfp_{w44}_{B14} AGE-SECRET-KEY-1{U58}";

/// Where tokens stand; `@` is the token.
const PLACES: &[&str] = &[
    "@",
    "TOKEN=@",
    "export API_KEY='@'\n",
    "key: \"@\",",
    "{\"token\": \"@\"}",
    "{\"stdout\":\"{\\\"a\\\":\\\"@\\\"}\\n\"}",
    "https://x.invalid/v1?a=1&t=@&z=2",
    "https://user:@@x.invalid/y.git",
    "the token is @\nand so on",
    "pushed with @.",
    "a,@,b",
    "- @",
    "(@)",
    "<@>",
    "prefix_@",
    "prefix-@",
    "/@/",
    "curl -H \"Authorization: Bearer @\" x",
];

/// The text before the token in a place, and the text after it.
fn parts(place: &str) -> (&str, &str) {
    let at = place.find('@').expect("a place");
    (&place[..at], &place[at + 1..])
}

/// A generator of numbers that is the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % bound as u64).expect("it is below a usize")
    }

    fn token(&mut self, format: &str) -> String {
        let mut token = String::new();
        let mut rest = format;
        while let Some((before, after)) = rest.split_once('{') {
            let (random, after) = after.split_once('}').expect(format);
            token.push_str(before);
            let alphabet = alphabet(&random[..1]).as_bytes();
            let length: usize = random[1..].parse().expect(format);
            token.extend((0..length).map(|_| char::from(alphabet[self.below(alphabet.len())])));
            rest = after;
        }
        token + rest
    }
}

fn alphabet(name: &str) -> &'static str {
    const WEB: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    match name {
        "A" => &WEB[..52],
        "B" => &WEB[..62],
        "U" => "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
        "l" => &WEB[26..62],
        "h" => "0123456789abcdef",
        "w" => WEB,
        "d" => &WEB[52..62],
        other => panic!("no alphabet {other}"),
    }
}

#[test]
fn no_token_of_a_vendor_is_missed_wherever_it_stands() {
    let redactor = Redactor::new([]);
    let mut random = Random(20_261_123);
    let mut missed = Vec::new();
    for format in FORMATS.split_whitespace() {
        let mut misses = 0;
        let mut example = String::new();
        for number in 0..TOKENS {
            let token = random.token(format);
            let (before, after) = parts(PLACES[number % PLACES.len()]);
            if is_checksum(format, before) {
                continue;
            }
            let text = format!("{before}{token}{after}");
            let clean = redactor.redact(&text);
            let tail = &token[token.len() - 10..];
            if !clean.contains(PLACEHOLDER) || clean.contains(tail) {
                misses += 1;
                example = format!("{text} became {clean}");
            }
        }
        if misses > 0 {
            missed.push(format!("{misses} of {TOKENS} of {format}: {example}"));
        }
    }
    assert!(missed.is_empty(), "missed:\n{}", missed.join("\n"));
}

/// The rules that find a value by the text around it.
const BY_SURROUNDINGS: &[&str] = &["Azure signature", "key of Discord, Facebook or Sourcegraph"];

/// In `cache-key-d41d8cd9…`, what follows is the checksum of a key.
fn is_checksum(format: &str, before: &str) -> bool {
    format.starts_with("key-") && before.starts_with("prefix")
}

#[test]
fn every_rule_with_a_prefix_has_a_real_format() {
    let mut random = Random(7);
    let samples: Vec<String> =
        FORMATS.split_whitespace().map(|format| random.token(format).to_lowercase()).collect();
    let has_sample =
        |rule: &Rule| rule.keywords.iter().any(|key| samples.iter().any(|sample| sample.starts_with(key)));
    let is_prefix = |rule: &&Rule| matches!(rule.start, Start::Word | Start::Run);
    let missing: Vec<&str> = vendors::RULES
        .iter()
        .filter(is_prefix)
        .filter(|rule| !BY_SURROUNDINGS.contains(&rule.name))
        .filter(|rule| !has_sample(rule))
        .map(|rule| rule.name)
        .collect();
    assert!(missing.is_empty(), "no real format of {missing:?}");
}
