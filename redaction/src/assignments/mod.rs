//! Values that are assigned to a name such as `DB_PASSWORD`, in every notation of people and machines.
//!
//! Only the value is replaced. In an environment (`DB_PASSWORD=`, all capitals) nearly every literal is a
//! secret. Other names also belong to variables, types and translations, so there the value has to look like
//! a secret.

mod line;
mod literal;

use super::names::NAME_ENDINGS;
use super::rule::{Rule, Start, rules};
use literal::{
    is_argument_secret, is_bare_secret, is_chosen_secret, is_environment_secret, is_loosely_assigned_secret,
    is_paired_secret, is_quoted_secret,
};
pub(super) use literal::{is_secret_in_command, is_secret_under};

pub(super) static RULES: &[Rule] = rules! {
    rule "quoted value", NAME_ENDINGS,
        concat!(
            r#"(?:\\{0,3}["'`])?(?:\[\w{0,8}\]|[\]?])?[ \t]*"#,
            // A type, after a colon or as in Go.
            r#"(?:(?::[ \t]*[&'\w<>\[\] ]{1,32}?|[ \t][*\[\]\w.]{1,32}[ \t]+)?"#,
            r#"(?::{1,3}=|=>|[?.+]=|\|\|=|\?\?=|//=|=)|:)[ \t]*"#,
            // Further names in a chain.
            r#"(?:[A-Za-z_$][\w.]{0,40}[ \t]*=[ \t]*){0,3}[bfruLRFBU@]{0,2}"#,
            r#"(?:"((?:[^"\\\r\n]|\\[^\r\n])+)""#,
            r#"|'((?:[^'"\\\r\n]|\\[^\r\n]|"[^'\\,:}\]\s])+)'|`([^`"\\\r\n]+)`"#,
            r#"|\\{1,3}"([^"\r\n]+?)\\{1,3}"|\\{1,3}'([^'"\r\n]+?)\\{1,3}'|["']([^"'\\\s]{8,})\z)"#,
        ),
        is_quoted_secret, Start::Name;
        redacts "  password: \"«FAKE" "GOATXWhQvsTot5O3d1fz»\""
        redacts "{\"api_key\":\"«FAKE" "x1y2z3a4b5c6»\",\"a\":1}"
        redacts "{\\\"apiKey\\\": \\\"«FAKE" "x1y2z3a4b5c6»\\\"}"
        redacts "const API_KEY: &str = \"«FAKE" "-key-1»\";"
        redacts "os.environ['API_TOKEN'] = '«FAKE" "-key-1»'"
        redacts "'db_password' => '«hunter" "2»',"
        redacts "\"DB_PASSWORD\": \"«sword" "fish»\""
        redacts "DB_PASSWORD='«a horse eats " "1»'"
        redacts "password = \"«ab\\\"cd" "12»\""
        redacts "\"client_secret\": \"«FAKE" "x1y2z3a4b5c6»"
        redacts "var apiToken string = \"«FAKE" "x1y2z3a4b5c6»\""
        redacts "var dbPassword *string = \"«hunter" "2»\""
        redacts "const char password[] = \"«hunter" "2»\";"
        redacts "password?: string = \"«hunter" "2»\";"
        redacts "$password .= '«hunter" "2»';"
        redacts "@api_key ||= \"«FAKE" "x1y2z3a4b5c6»\""
        redacts "API_TOKEN ::= \"«sword" "fish»\""
        redacts "self.api_key = key = \"«FAKE" "x1y2z3a4b5c6»\""
        redacts "auth_token: \"«abcd" "1234»\""
        redacts "clientSecret = '«qwerty" "99»'"
        leaves "{\"password\":\"Passwort\",\"token\":\"Zeichen\",\"secret\":\"Geheimnis\"}",
            "\"ENTER_PASSWORD\": \"Password:\"", "PASSWORD: \"Mot de passe\"",
            "const ACCESS_TOKEN = \"access_token\";", "API_KEY = \"your-api-key\"",
            "password: \"${DB_PASSWORD}\"", "password = f\"{user}-{password}\"",
            "\"next_token\": \"FAKEx1y2z3a4b5c6\"", "ERR_INVALID_TOKEN = \"The token is not valid in 2024\"",
            "if token == \"FAKEx1y2z3a4b5c6\"", "password: \"sha256\"", "if token != \"FAKEx1y2z3a4b5c6\"",
            "encryption_key: \"aes256gcm\"", "signing_key = \"secp256k1\"", "private_key: \"x25519\"",
            "unset DB_PASSWORD NAME=\"hello\"", "var token string = \"bearer\""
    rule "variable of an environment", NAME_ENDINGS,
        r#"[+.?]?=((?:[^\s"'`\\]|\\[^\s"'`\\nrtu])*[^\s"'`\\;,)])"#,
        is_environment_secret, Start::Name;
        redacts "DB_PASSWORD=«FAKE" "InLdgJCNegFHk9DBrLk6!»"
        redacts "export API_TOKEN=«abc;" "def&1»;"
        redacts "API_TOKEN+=«sword" "fish»"
        redacts "12\tAPP_SECRET=«sword" "fish»\\nNEXT=1"
        redacts ".env:3:SMTP_PASS=«sword" "fish»"
        leaves "API_TOKEN=$(cat token)", "API_TOKEN=${TOKEN:-none}", "API_TOKEN=", "API_TOKEN=None",
            "API_KEY=api_key", "API_KEY=process.env.API_KEY", "MAX_TOKEN=4096", "PWD=/home/somebody/project",
            "DB_PASSWORD=/run/secrets/db_password", "DB_PASSWORD=changeme"
    rule "bare value", NAME_ENDINGS,
        concat!(
            r#"(?:\\{0,3}["'`])?\]?[ \t]*(?::{1,3}=|=>|[?.+]=|=|:)[ \t]*"#,
            r#"([^\s"'`\\,;&|<>(){}\[\]=:~][^\s"'`\\,;&|<>(){}\[\]]*)"#,
        ),
        is_bare_secret, Start::Name;
        redacts "password: «hunter" "2»"
        redacts "spring.datasource.password=«Summer" "2024!»"
        redacts "  DB_PASSWORD: «sword" "fish»\n"
        redacts "Server=x;Password=«FAKE" "x1y2z3a4»;Encrypt=true"
        redacts "https://x.invalid/?api_key=«FAKE" "x1y2z3a4»&page=2"
        redacts "X-Api-Key: «FAKE" "x1y2z3a4b5c6d7e8»"
        redacts "//registry.invalid/:_authToken=«FAKE" "x1y2z3a4b5c6d7e8»"
        redacts "run PGPASSWORD=«sword" "fish» psql"
        redacts "Password=«hunter" "2»;User=u"
        redacts "https://x.invalid/?token=«abcd" "1234»"
        redacts "API_TOKEN ::= «FAKE" "x1y2z3a4»"
        redacts "api_token: «abcd" "1234»"
        redacts "mycli --api-key=«FAKE" "x1y2z3a4b5c6d7e8»"
        leaves "password = get_password()", "password = var.db_password", "password: ${DB_PASSWORD}",
            "API_KEY = os.environ[\"X\"]", "API_KEY = load_key", "if token == None", "let token = tokens[0];",
            "password: String,", "pub token: Option<String>,", "DB_PASSWORD: str", "password = hash256",
            "password = hash_v2", "password = hashed2;", "password=t1;user=t2",
            "password:e.password,token:t2", "token => parse1(token)", "\"max_token\": 128000",
            "\"password\": 12345678", "valueFrom:\n  secretKeyRef:\n    name: db\n    key: password",
            "error: unexpected token: identifier2 was expected", "token: pad_token_id",
            "TOKEN ::= LETTER", "token ::= letter1 | digit2", "secret: x25519_dalek::StaticSecret,",
            "let token: jwt::v2::Token3 = x", "type Secret = ed25519_dalek::SecretKey;",
            "password: argon2::Argon2<'a>,", "auth_token: proc_macro2::TokenStream2",
            "api_key = k8s_openapi::v1_26::Secret", "token::Token2::new()"
    rule "element of XML", NAME_ENDINGS,
        concat!(
            r"(?:[ \t][^<>\r\n]{0,80})?>",
            // The element may have a line of its own, with what tools put before it.
            r"(?:(?:\r?\n|\\{1,2}r?\\{0,2}n)(?:[^\s<>]{0,100}[:-])?(?:[ ]*[0-9]{1,7}[:\t-])?",
            r"(?:[ \t]|\\{1,2}t)*)?",
            r"([^<>\s\\]+)(?:\s|\\{1,2}[rnt]|[^\s<>]{1,100}[:-][0-9]{1,7}[:-]|[0-9]{1,7}\t){0,40}</",
        ),
        is_chosen_secret, Start::Name;
        redacts "<password>«hunter" "2»</password>"
        redacts "<apiKey>«FAKE" "x1y2z3a4b5c6d7»</apiKey>"
        redacts "<apiKey>\n    «FAKE" "x1y2z3a4b5c6d7»\n</apiKey>"
        redacts "1\t<apiKey>\n2\t    «FAKE" "x1y2z3a4b5c6d7»\n3\t</apiKey>"
        redacts "a.xml:1:<apiKey>\na.xml:2:\t«FAKE" "x1y2z3a4b5c6d7»\na.xml:3:</apiKey>"
        redacts "<password>\\n  «hunter" "2»\\n</password>"
        leaves "<password>${env.PW}</password>", "<token>Zeichen</token>", "<b>password</b> <i>abc123</i>"
    rule "argument of a command", NAME_ENDINGS,
    r#"[ \t]+["']?([^\s"'`\\,;|<>(){}\[\]-][^\s"'`\\;|<>(){}\[\]]*)"#,
        is_argument_secret, Start::Name;
        redacts "deploy --password «hunter" "2» --force"
        redacts "deploy --auth-token '«FAKE" "x1y2z3a4b5c6d7e8»'"
        redacts "ENV DB_PASSWORD «sword" "fish»"
        leaves "--password PASSWORD  the password", "--token <TOKEN>", "the password hunter2",
            "--token $TOKEN"
    rule "quoted word after a keyword", NAME_ENDINGS,
        r#"(?:\\{0,3}["'],[ \t]*|[ \t]+)\\{0,3}["']([^"'\\\s]{4,})\\{0,3}["']"#, is_loosely_assigned_secret,
        Start::Name;
        redacts "CREATE USER a WITH PASSWORD '«hunter" "2»';"
        redacts "#define API_TOKEN \"«FAKE" "x1y2z3a4b5»\""
        redacts ".env(\"API_KEY\", \"«FAKE" "x1y2z3a4b5»\")"
        redacts "System.setProperty(\"API_TOKEN\", \"«sword" "fish»\");"
        redacts "System.setProperty(\"app.apiToken\", \"«abcd" "1234»\");"
        redacts "define('DB_PASSWORD', '«sword" "fish»');"
        redacts "os.environ.setdefault(\"DB_PASSWORD\", \"«sword" "fish»\")"
        leaves "[\"token\", \"utf8-text\"]", "the token \"identifier\" is unexpected",
            "(\"password\", \"password1\")", "getProperty(\"API_TOKEN\", \"none\")",
            "assertEquals(\"API_TOKEN\", \"header\")", "System.setProperty(\"API_TOKEN\", \"your-token\")",
            "setText(\"token\", \"Zeichen\")"
    rule "pair of name and value", NAME_ENDINGS,
        concat!(
            r#"\\{0,3}["']?,?(?:\\n|\s){0,40}\\{0,3}["']?value\\{0,3}["']?[ \t]*[:=][ \t]*"#,
            r#"\\{0,3}["']?([^\s"'\\,;<>(){}\[\]]+)"#,
        ),
        is_paired_secret, Start::Name;
        redacts "- name: DB_PASSWORD\n  value: «sword" "fish»"
        redacts "{\"name\":\"API_KEY\",\"value\":\"«FAKE" "x1y2z3a4b5»\"}"
        redacts "<add key=\"ApiKey\" value=\"«FAKE" "x1y2z3a4b5»\" />"
        leaves "- name: DB_PASSWORD\n  value: $(PASSWORD)", "token value: identifier",
            "the password value=text"
};
