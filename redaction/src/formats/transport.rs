//! Secrets in transport: headers, addresses with a password, signed tokens, files of credentials.
//!
//! The text around them stays, so that a reader still sees which header or which host it was.

use super::super::false_positives::{self, is_false_positive, is_not_dummy};
use super::super::found::Found;
use super::super::references::is_code_name;
use super::super::rule::{Rule, Start, rules};
use super::super::shape::looks_random;

pub(super) static RULES: &[Rule] = rules! {
    rule "signed web token", &["eyj"], concat!(
            r"(?:(eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{16,})",
            // Without a signature: the algorithm is `none`, and the claims are all there is.
            r"|(eyJ[A-Za-z0-9_-]{14,}\.eyJ[A-Za-z0-9_-]{14,}\.[A-Za-z0-9_-]{0,15})",
            r"(?:[^A-Za-z0-9_<${\[*-]|\z))",
        ),
        is_not_dummy, Start::Run;
        redacts "«eyJhbGciOiJIUzI1NiJ9" ".eyJzdWIiOiJGQUtFIn0.AB7UnQQArZlVJUlJd9LDwwg-ILNDd0OBn6LnfY0POeq»"
        redacts "Cookie: a=«eyJhbGciOiJub25lIn0" ".eyJzdWIiOiJGQUtFIn0.FAKEx1y2z3a4b5c6»; b=1"
        redacts "token «eyJhbGciOiJub25lIn0" ".eyJzdWIiOiJGQUtFIn0.» is unsigned"
        leaves "eyJhbGciOiJIUzI1NiJ9", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJGQUtFIn0.<signature>"
    rule "encrypted web token", &["eyj"],
        r"eyJ[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
        is_not_dummy, Start::Run;
        redacts "«eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0"
            "..FAKEx1y2z3a4b5c6.FAKEx1y2z3a4b5c6d7e8.FAKEx1y2z3a4b5c6d7»"
    rule "bearer token", &["bearer"], r"(?i:bearer)[ \t]+([A-Za-z0-9._~+/=-]{16,})", is_bearer;
        redacts "Authorization: Bearer «FAKE" "x1y2z3a4b5c6d7»"
        redacts "-H 'authorization: bearer «FAKE" ".x1y2z3/a4b5c6=»'"
        leaves "Authorization: Bearer <token>", "Authorization: Bearer $TOKEN",
            "Bearer authentication-is-required", "Bearer your-token-goes-here-x1y2z3"
    rule "authorization header", &["authorization"],
        concat!(
            r#"(?i:authorization\\{0,3}["']?\]?[ \t]*[:=,][ \t]*\\{0,3}["']?"#,
            r#"(?:(?:basic|bearer|token|bot|apikey|negotiate|key|splunk)[ \t]+(?:token=)?\\{0,3}["']?)?)"#,
            r#"([^\s"'`\\,;<>(){}\[\]]{8,})"#,
        ),
        is_authorization;
        redacts "Authorization: Basic «dTpG" "QUtFeDF5MnozYTRi»"
        redacts "\"Authorization\": \"Bot «FAKE" "x1y2.z3a4b5.c6d7e8f9»\""
        redacts "Authorization: token «FAKE" "x1y2z3a4b5»"
        redacts "Proxy-Authorization: Basic «dTpG" "QUtFeDF5MnozYTRi»"
        redacts "authorization: «FAKE" "x1y2z3a4b5»"
        leaves "Authorization: Basic <credentials>", "Authorization: Basic base64(user:pass)",
            "Authorization: required", "pub Authorization: PRESENCE_0,",
            "authorization: authenticationService", "Authorization: Bearer ${TOKEN}"
    rule "password in an address", &["://"],
        r#"://[^\s/?#:@"'<>\\(){}\[\]]*:([^\s/"'`<>\\]+)@[A-Za-z0-9_.\[*%$-]"#, is_address_password,
        Start::Anywhere;
        redacts "postgres://app:«FAKE" "2HlkBpXGZmrC3elW»@db.internal:5432/app"
        redacts "redis://:«FAKE" "x1y2»@cache:6379/0"
        redacts "mongodb+srv://u:«p@ss" "w0rd»@h.invalid/?a=b"
        leaves "postgres://user:password@localhost/db", "postgres://postgres:postgres@localhost/db",
            "postgres://${USER}:${PASSWORD}@localhost/db", "f\"postgres://{user}:{password}@{host}\"",
            "https://registry.npmjs.org:443/@types/node", "http://localhost:8080/a@b",
            "ssh://git@github.com:22/a/b", "https://user:***@host/", "https://[::1]:80/@x"
    rule "login of netrc", &["login"], r#"login\s+[^\s/]+\s+password[ \t]+"?([^\s"]{4,})"#,
        is_literal_password;
        redacts "machine h.invalid login u password «FAKE" "x1y2z3»"
        redacts "machine h.invalid\n  login u\n  password «sword" "fish»"
        leaves "machine h login u password <password>", "# login / password\n    login_i = 0"
    rule "line of pgpass", &[":5432:", ":5433:", ":6432:"], r":[0-9]{4}:[^\s:]+:[^\s:]+:([^\s:]{4,})",
        is_literal_password, Start::Anywhere;
        redacts "db.invalid:5432:app:app:«FAKE" "x1y2z3»"
        leaves "localhost:5432:app"
    rule "stored login of Docker or npm", &["\"auth", "_auth", "identitytoken"],
        r#"(?i:"auth\\{0,3}"|_auth|identitytoken\\{0,3}"?)[ \t]*[:=][ \t]*\\{0,3}"?([A-Za-z0-9+/=_-]{12,})"#,
        is_stored_login, Start::Anywhere;
        redacts "{\"auths\":{\"h.invalid\":{\"auth\":\"«dTpG" "QUtFeDF5MnozYTRi»\"}}}"
        redacts "//h.invalid/:_auth=«dTpG" "QUtFeDF5MnozYTRi»"
        leaves "\"auth\": \"authentication-service\"", "\"auth\": \"required\"", "basic_auth = authentication"
    rule "token of npm", &["_authtoken"], r#"(?i:_authtoken)[ ]?=[ ]?"?([^\s"]{8,})"#, is_literal_password,
        Start::Anywhere;
        redacts "//h.invalid/:_authToken=«FAKE" "-1234-abcd»"
        leaves "//h.invalid/:_authToken=${NPM_TOKEN}"
    rule "password of a database user", &["identified by"], r"(?i:identified by)[ ]+\\{0,3}'([^'\\\s]{4,})",
        is_literal_password;
        redacts "CREATE USER u IDENTIFIED BY '«sword" "fish»';"
        leaves "IDENTIFIED BY '<password>'"
    rule "password after -p", &["docker login", "podman login", "mysql", "mysqldump"],
        concat!(
            r"(?:(?:docker|podman) login[^\r\n]{0,80}? -p[ ]+|mysql[a-z]*[^\r\n]{0,80}? -p)",
            r#"["']?([^\s"'`\\]{6,})"#,
        ),
        is_command_password;
        redacts "docker login -u u -p «hunter" "2» h.invalid"
        redacts "mysql -u root -p«hunter" "2» db"
        leaves "docker login -u u -p $PASSWORD", "mysql -u root -p database1", "mysqladmin -p'${PW}'"
    rule "login of a command", &["-u ", "--user ", "--user=", "sshpass -p"],
        r#"(?:(?:-u |--user[ =])[ ]*["']?[A-Za-z0-9._@%+-]+:|sshpass -p[ ]?["']?)([^\s:"'`\\]{4,})"#,
        is_command_password, Start::Anywhere;
        redacts "curl -u admin:«hunter" "2» https://h.invalid/"
        redacts "curl --user \"admin:«FAKE" "x1y2!»\" https://h.invalid/"
        redacts "sshpass -p '«hunter" "2»' ssh h"
        leaves "docker run -u 1000:1000 image", "curl -u user:$PASSWORD h", "curl -u user:password h"
    rule "login of curl", &["curl"],
        concat!(
            r#"curl[^\r\n|;&]{0,300}?[ ](?:-[a-zA-Z]{0,8}u[ ]?|--user[ =]|--proxy-user[ =])[ ]*\\{0,3}["']?"#,
            r#"[^\s:"'`\\$]{1,64}:([^\s"'`\\]{3,})"#,
        ),
        is_literal_password;
        redacts "curl -u admin:«sword" "fish» https://h.invalid/"
        redacts "curl -s -X POST https://h.invalid/ -uadmin:«sword" "fish»"
        redacts "curl -su 'admin:«sword" "fish»' https://h.invalid/"
        redacts "curl --proxy-user=u:«sword" "fish» https://h.invalid/"
        leaves "curl -u \"$USER:$PASSWORD\" h", "curl -u user:password h", "curl -u user: https://h.invalid/",
            "curl -o out http://h.invalid:8080/a"
    rule "session cookie", &["cookie:"],
        r#"(?i:cookie:)[^\r\n"']{0,300}?(?i:sess|sid|auth|token|jwt)[A-Za-z0-9_.-]{0,24}=([^\s;,"'\\]{16,})"#,
        is_cookie, Start::Anywhere;
        redacts "Set-Cookie: sessionid=«FAKE" "x1y2z3a4b5c6d7»; Path=/"
        redacts "cookie: lang=en; connect.sid=«s%3AFAKE" "x1y2z3a4b5c6»; a=b"
        leaves "Set-Cookie: sessionid=<session>; Path=/", "Cookie: lang=en; theme=dark"
};

fn is_bearer(found: &Found<'_>) -> bool {
    is_not_dummy(found) && !is_false_positive("bearer", found.value) && is_generated(found.value)
}

fn is_authorization(found: &Found<'_>) -> bool {
    let called = found.after.starts_with(['(', '[', '{']);
    !called
        && !is_code_name(found.value)
        && !is_false_positive("authorization", found.value)
        && is_generated(found.value)
}

/// A random value, padded base64, or letters with digits.
fn is_generated(value: &str) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    looks_random(value) || value.ends_with('=') || digits > 0 && digits < value.len()
}

fn is_literal_password(found: &Found<'_>) -> bool {
    !is_false_positive("password", found.value)
}

/// A password that equals the user name, as in test set-ups, is not secret.
fn is_address_password(found: &Found<'_>) -> bool {
    let user = found.between.trim_start_matches("://").trim_end_matches(':');
    user != found.value && !is_false_positive("password", found.value) && !found.value.contains(['{', '$'])
}

fn is_stored_login(found: &Found<'_>) -> bool {
    (looks_random(found.value) || found.value.ends_with('=')) && !false_positives::is_dummy(found.value)
}

fn is_command_password(found: &Found<'_>) -> bool {
    let mixed = found.value.bytes().any(|byte| byte.is_ascii_alphabetic())
        && found.value.bytes().any(|byte| !byte.is_ascii_alphabetic());
    mixed && !is_false_positive("password", found.value)
}

fn is_cookie(found: &Found<'_>) -> bool {
    is_not_dummy(found) && looks_random(found.value)
}
