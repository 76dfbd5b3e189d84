//! Private keys, replaced as whole blocks, with or without their last line.
//!
//! The lines of a key are found even when a tool has put numbers, file names or quotes before them, and when
//! the text was cut before the end. The first line alone, as in code, stays.

use super::super::found::Found;
use super::super::rule::{Rule, Start, rules};

/// Between two lines of a key: the end of a line and what a tool writes before the next, or a space.
macro_rules! gap {
    () => {
        concat!(
            r#"(?:["',+;\\ \t]{0,8}?(?:\\{1,2}r)?(?:\r?\n|\\{1,2}n)"#,
            r#"(?:[^\s:"]{0,100}[:-])?(?:[ \t]*[0-9]{1,7}[:\t|-])?[ \t>|+#"'*-]{0,40}|[ ]+)"#
        )
    };
}

/// Lines that may precede the key itself: blank ones, and headers such as `Proc-Type: 4,ENCRYPTED`.
macro_rules! headers {
    () => {
        concat!("(?:", gap!(), r#"(?:[A-Z][A-Za-z-]{2,20}: [^"\r\n\\]{1,100})?)*?"#)
    };
}

macro_rules! block {
    ($begin:literal, $end:literal) => {
        concat!(
            $begin,
            headers!(),
            gap!(),
            "[A-Za-z0-9+/=]{32,}",
            "(?:",
            gap!(),
            "[A-Za-z0-9+/=]{24,})*",
            "(?:(?:",
            gap!(),
            "[A-Za-z0-9+/=]{1,63}){0,2}",
            gap!(),
            "?",
            $end,
            "|",
            gap!(),
            r"[A-Za-z0-9+/=]{1,63}\s*\z)?"
        )
    };
}

pub(super) static RULES: &[Rule] = rules! {
    rule "private key block", &["-----begin"],
        block!(
            "-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----",
            "-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
        ),
        always, Start::Anywhere;
        redacts "a\n«-----BEGIN " "RSA PRIVATE KEY-----\n" "FAKE6Idr96riOHdfUrAytPDQj0DxOILDtLvUFeLRzlOT\n"
            "Gx0SGDbHtlwASK2BIqWicrnlHG0TfbnibrKuKs==\n" "-----END " "RSA PRIVATE KEY-----»\n" "b"
        redacts "\"«-----BEGIN " "PRIVATE KEY-----\\n" "FAKE6Idr96riOHdfUrAytPDQj0DxOILDtLvUFeLRzlOT\\n"
            "Gx0S\\n" "-----END " "PRIVATE KEY-----»\\n\""
        redacts "1\t«-----BEGIN " "OPENSSH PRIVATE KEY-----\n"
            "2\tFAKE6Idr96riOHdfUrAytPDQj0DxOILDtLvUFeLRzlOT\n" "3\tGx0SGDbHtlwASK2BIqWicrnl\n" "4\t-----END "
            "OPENSSH PRIVATE KEY-----»\n" "5\tx"
        redacts "k.pem:1:«-----BEGIN " "EC PRIVATE KEY-----\n"
            "k.pem:2:FAKE6Idr96riOHdfUrAytPDQj0DxOILDtLvUFeLRzlOT\n" "k.pem-3-Gx0SGDbHtlwASK2BIqWicrnl»\n"
            "no key"
        redacts "«-----BEGIN " "RSA PRIVATE KEY-----\n" "Proc-Type: 4,ENCRYPTED\n"
            "DEK-Info: AES-128-CBC,0011\n\n" "FAKE6Idr96riOHdfUrAytPDQj0DxOILDtLvUFeLRzlOT\n" "Gx0SG»"
        redacts "+«-----BEGIN " "PGP PRIVATE KEY BLOCK-----\n" "+Version: GnuPG\n" "+\n"
            "+FAKE6Idr96riOHdfUrAytPDQj0DxOILDtLvUFeLRzlOT\n" "+=aB1c\n" "+-----END "
            "PGP PRIVATE KEY BLOCK-----»"
        redacts "«-----BEGIN " "PRIVATE KEY----- FAKE6Idr96riOHdfUrAytPDQj0DxOILDtLvUFeLRzlOT Gx0S "
            "-----END " "PRIVATE KEY-----»"
        leaves "if line == \"-----BEGIN PRIVATE KEY-----\" {\n    key = true;\n}",
            "-----BEGIN RSA PRIVATE KEY-----\n...\n-----END RSA PRIVATE KEY-----",
            "-----BEGIN CERTIFICATE-----\n"
            "B9Z/fqStc41Zx+Jp1gBL6TITxZH6vQxPoEX2ypekwMNZImLkzWazLKruqVu5v+T0\n" "-----END CERTIFICATE-----",
            "-----BEGIN PUBLIC KEY-----\n"
            "B9Z/fqStc41Zx+Jp1gBL6TITxZH6vQxPoEX2ypekwMNZImLkzWazLKruqVu5v+T0\n" "-----END PUBLIC KEY-----"
    rule "private key block of SSH2", &["---- begin ssh2"],
        block!("---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----", "---- END SSH2 ENCRYPTED PRIVATE KEY ----"),
        always, Start::Anywhere;
        redacts "«---- BEGIN " "SSH2 ENCRYPTED PRIVATE KEY ----\n"
            "FAKE6Idr96riOHdfUrAytPDQj0DxOILDtLvUFeLRzlOT\n" "---- END " "SSH2 ENCRYPTED PRIVATE KEY ----»"
    rule "private key of PuTTY", &["private-lines:"],
        concat!(
            "Private-Lines: [0-9]+((?:", gap!(), "[A-Za-z0-9+/=]{24,})+(?:", gap!(),
            r"[A-Za-z0-9+/=]{1,23}\r?\n)?)",
        ),
        always, Start::Anywhere;
        redacts "Private-Lines: 2«\nFAKE6Idr96riOHdfUrAytPDQj0DxOI" "LDtLvUFeLRzlOT\nGx0S\n»Private-MAC: 00"
    rule "private key block in base64", &["ls0tls1crudjti"],
        concat!(
            "LS0tLS1CRUdJTi(?:BQUklWQVRFIEtFW|BSU0EgUFJJVkFURS|BFQyBQUklWQVRF|BPUEVOU1NIIFBSSVZBVE",
            r"|BFTkNSWVBURUQg|BEU0EgUFJJVkFURS|BQR1AgUFJJVkFUR)[A-Za-z0-9+/]*={0,2}",
        ),
        always, Start::Anywhere;
        redacts "tls.key: «LS0tLS1CRUdJTi" "BQUklWQVRFIEtFWS0tLS0tCk1JSQ==»"
        leaves "tls.crt: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSQ=="
};

fn always(_: &Found<'_>) -> bool {
    true
}
