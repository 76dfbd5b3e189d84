//! Tokens of chat, mail and phone services.
//!
//! An address that whoever knows it may post to is a token as well.

use super::super::honest::{is_no_stand_in, is_random};
use super::super::rule::{Rule, Start};

pub(super) static RULES: &[Rule] = &[
    Rule::token(
        "Slack token",
        &["xoxa-", "xoxb-", "xoxp-", "xoxo-", "xoxs-", "xoxr-", "xoxe-", "xoxe.", "xoxc-", "xoxd-"],
        r"xox(?:e\.xox[bp]|[abceoprsd])-[A-Za-z0-9%-]{10,}",
    )
    .redacts(&[
        concat!("«xoxb-", "2765433240-07633654888-FAKEdGTA4veCaQ90l5UkysaC»"),
        concat!("«xoxp-", "276543324012-FAKEZKRwKmEfIuHDBI6O3jz9MNfZZd»"),
        concat!("«xoxe.", "xoxp-1-FAKEURvMQtKKA8xEQPit3vH4Ob2moRVCSfjQLxJL8AxHpKCzqhol94mJVho3»"),
    ])
    .leaves(&["xoxb-your-bot-token-here", "xoxb-000000000000-000000000000-xxxxxxxxxxxxxxxxxxxxxxxx"]),
    Rule::token("Slack app token", &["xapp-"], "xapp-[0-9]-[A-Z0-9]+-[0-9]+-[a-z0-9]{30,}").redacts(&[
        concat!(
            "«xapp-",
            "1-AFAKEQGM7Q5-0763365488840-7e732d2e433ec56f24b1c71b106e934d263b5ba0837bbf1b3ba3178b6e0e",
            "30f3»"
        ),
    ]),
    Rule::new(
        "Slack webhook",
        &["hooks.slack.com/"],
        Start::Anywhere,
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_-]{20,})",
        is_no_stand_in,
    )
    .redacts(&[concat!(
        "https://hooks.slack.com/services/«T0FAKEEQLJ/B09SYJQ8R2",
        "/FAKEabvjFGE3cZ1celN0PRMz»"
    )])
    .leaves(&["https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX"]),
    Rule::new(
        "Discord webhook",
        &["/api/webhooks/"],
        Start::Anywhere,
        "/api/webhooks/[0-9]{15,21}/([A-Za-z0-9_-]{50,})",
        is_no_stand_in,
    )
    .redacts(&[concat!(
        "https://discord.com/api/webhooks/123456789012345678/«FAKE1E9kS2Czo39NHexvHnt5iLNcnk0xUD",
        "vKDy7wuavLEvobpD4McOjUQjryreGqwKKH»"
    )]),
    Rule::new(
        "Teams webhook",
        &[".webhook.office.com/"],
        Start::Anywhere,
        r"\.webhook\.office\.com/webhookb2/([A-Za-z0-9@/_-]{60,})",
        is_no_stand_in,
    )
    .redacts(&[concat!(
        "https://x.webhook.office.com/webhookb2/«8a9783bf-0867-4e6e-a0eb-61232d8050fe@8a9783bf-08",
        "67-4e6e-a0eb-61232d8050fe",
        "/IncomingWebhook/4136d3b97429ab7bca1aafb77b4460ec/8a9783bf-0867-4e6e-a0eb-61232d8050fe»"
    )]),
    Rule::new(
        "Discord bot token",
        &["discord"],
        Start::Anywhere,
        r"[^\r\n]{0,60}?\b([MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,45})",
        is_random,
    )
    .redacts(&[
        concat!("DISCORD_TOKEN=«MTFAKECzKXt7kLejtUtqUKJQ", ".GU6Abi.79ve6mL7fLltLwDwXSBU37e1Fu5lr5qIbWkOrp»"),
        concat!(
            "discord client login with «MTFAKETbndzCm5Ms3GPgmpUd9i",
            ".GU6Abi.MdfeZ04KvUiamrIP4aOu7bnuu3VbPFzNRZvld3»"
        ),
    ])
    .leaves(&["discord.js", "discord.Object.create.something"]),
    Rule::new(
        "Telegram bot token",
        &[":aa"],
        Start::Back(is_digit, 12),
        "[0-9]{6,12}:AA[A-Za-z0-9_-]{30,}",
        is_no_stand_in,
    )
    .redacts(&[
        concat!("«2794088840:", "AAFAKEAYcfONvXFMzq8D3ab7uKPudANTU1v»"),
        concat!("https://api.telegram.org/bot«123456789:", "AAFAKEkfbjnjHX1fw0xBwIRL3JjQMKvoVNq»/getMe"),
    ])
    .leaves(&["12:AAAA", "[fe80::aa]"]),
    Rule::token("Twilio key", &["sk"], r"SK[0-9a-f]{32}\b")
        .redacts(&[concat!("«SK", "f19e8b8480f3b47c20431658b4550b7e»")])
        .leaves(&["SKIP", "SKxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    Rule::token("SendGrid key", &["sg."], r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}")
        .redacts(&[concat!("«SG.", "FAKE3FnO6w5ZyDnuY5bgQU.aeZP6zR3wdoKyA66y8QO3obqbqTBpownuWBPrt4FnKY»")])
        .leaves(&["msg.sender.name"]),
    Rule::new("Mailgun key", &["key-", "pubkey-"], Start::Run, r"(?:pub)?key-[0-9a-f]{32}\b", is_no_stand_in)
        .redacts(&[concat!("«key-", "5f84992a0f75ae616b1e5d490340494b»")])
        .leaves(&["key-value-store-with-a-long-name", "cache-key-d41d8cd98f00b204e9800998ecf8427e"]),
    Rule::new(
        "Mailchimp key",
        &["-us"],
        Start::Back(is_hex, 32),
        r"[0-9a-f]{32}-us[0-9]{1,2}\b",
        is_no_stand_in,
    )
    .redacts(&[concat!("«35ec2daca1760147d301a233f4d05743", "-us12»")]),
    Rule::new(
        "mail service key",
        &["xkeysib-", "xsmtpsib-", "re_"],
        Start::Word,
        concat!(
            "(?:x(?:key|smtp)sib-[0-9a-f]{64}(?:-[A-Za-z0-9]{16})?",
            r"|re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24})\b"
        ),
        is_random,
    )
    .redacts(&[
        concat!(
            "«xkeysib-",
            "bf2b672850882161db80a1e9ad8cdadc4ccd4078c763211caeae0ffac7cb2c8a-FAKEeOZIQo7NWqq6»"
        ),
        concat!("«re_", "FAKE1E2U_wHLEKoje7WHxHnHk0xpRlj0Q»"),
    ])
    .leaves(&["re_compiled_pattern_for_the_tokens"]),
];

fn is_digit(byte: u8) -> bool {
    byte.is_ascii_digit()
}

fn is_hex(byte: u8) -> bool {
    byte.is_ascii_hexdigit()
}
