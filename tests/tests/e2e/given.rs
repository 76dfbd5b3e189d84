//! Variables and input that calls give their commands: what arrives, what is refused, and that neither slips
//! past a rule or into the journal.

use std::fs;

use harness::tool_server::ToolServer;
use harness::wait::until_true;
use protocol::{Envelope, ErrorCode};
use serde_json::{Value, json};

use crate::background::session;

fn bash(server: &ToolServer, arguments: &Value) -> Envelope {
    session(server, "one").call("bash", arguments)
}

/// Neither the answer to a call nor the journal has the value of its password.
pub(crate) fn assert_kept_out(secret: &str, server: &ToolServer, ran: &Envelope) {
    assert!(ran.ok, "{ran:?}");
    let answer = serde_json::to_string(&ran).unwrap();
    let journal = fs::read_to_string(server.dir().journal()).unwrap();
    for text in [answer, journal] {
        assert!(text.contains("DB_PASSWORD") && !text.contains(secret), "{text}");
    }
}

#[test]
fn a_command_has_the_variables_and_the_input_of_its_call() {
    let server = ToolServer::start();
    let check = |arguments: Value, stdout: &str| {
        let ran = bash(&server, &arguments);
        assert_eq!((ran.ok, ran.stdout.as_str()), (true, stdout), "{arguments}: {ran:?}");
    };
    let env = json!({"NAME": "it's $HOME; exit 1", "PAGER": "less", "EMPTY": ""});
    let whole = json!({"cmd": "echo \"$NAME,$PAGER,${EMPTY-unset}\"; cat", "env": env, "stdin": "in"});
    check(whole, "it's $HOME; exit 1,less,\nin");
    check(json!({"cmd": "cat", "stdin": ""}), "");
    check(json!({"cmd": "cat; read x || echo end", "stdin": "a\n"}), "a\nend\n");
    check(json!({"cmd": "sh", "stdin": "echo $((6*7))\n"}), "42\n");
    let most = "x".repeat(64 << 10);
    check(json!({"cmd": "wc -c", "stdin": most}), "65536\n");
    check(json!({"cmd": "true", "stdin": most}), "");

    let started =
        bash(&server, &json!({"cmd": "cat; echo $A", "background": true, "env": {"A": "b"}, "stdin": "x\n"}));
    let id = &started.meta.data["process_id"];
    until_true("the process reads its whole input and ends", || {
        let arguments = json!({"process_id": id, "wait_seconds": 1, "after_seq": 0});
        let read = session(&server, "one").read(&arguments);
        read.meta.data["exit_code"] == 0 && read.stdout == "x\nb\n"
    });
}

#[test]
fn what_a_command_cannot_be_given_is_refused_and_named() {
    let server = ToolServer::start();
    let many: serde_json::Map<_, _> = (0..65).map(|number| (format!("A{number}"), "".into())).collect();
    for (given, said) in [
        (json!({"env": {"HOME": "/"}}), "`HOME`"),
        (json!({"env": {"A=B": "c"}}), "\"A=B\""),
        (json!({"env": {"": "c"}}), "\"\""),
        (json!({"env": {"1A": "c"}}), "\"1A\""),
        (json!({"env": {"BASH_FUNC_ls%%": "() { id; }"}}), "BASH_FUNC_ls%%"),
        (json!({"env": {"A": "b\0c"}}), "NUL"),
        (json!({"env": {"A": 1}}), "`env.A` must be a string"),
        (json!({"env": {"A": "x".repeat(33 << 10)}}), "32768 bytes"),
        (json!({"env": many}), "64 variables"),
        (json!({"stdin": "ä".repeat(33 << 10)}), "65536 bytes"),
    ] {
        let mut arguments = given.clone();
        arguments["cmd"] = "touch ran".into();
        let refused = bash(&server, &arguments);
        assert_eq!(refused.error_code(), Some(ErrorCode::InvalidArgument), "{given}: {refused:?}");
        assert!(refused.meta.error.unwrap().message.contains(said), "{given}");
    }
    assert!(!server.root().join("ran").exists());
}

#[test]
fn a_rule_sees_what_variables_and_input_make_of_a_command() {
    let calls = [
        json!({"cmd": "sh", "stdin": "touch secret"}),
        json!({"cmd": "xargs touch", "stdin": "secret"}),
        json!({"cmd": "$X secret", "env": {"X": "touch"}}),
        json!({"cmd": "true", "env": {"BASH_ENV": "code"}}),
        json!({"cmd": "touch secret", "env": {"A": "1"}, "stdin": "x"}),
    ];
    let rules = "[[rule]]\ntools = [\"bash\"]\ncommands = [\"touch secret\"]\ndecision = \"deny\"\n";
    let open = ToolServer::start();
    let guarded = ToolServer::builder().policy(rules).start();
    for server in [&open, &guarded] {
        fs::write(server.root().join("code"), "touch secret\n").unwrap();
    }
    for call in calls {
        let ran = bash(&open, &call);
        assert!(open.root().join("secret").exists(), "the attack works: {call}: {ran:?}");
        fs::remove_file(open.root().join("secret")).unwrap();
        assert_eq!(bash(&guarded, &call).error_code(), Some(ErrorCode::ToolNotAllowed), "{call}");
        assert!(!guarded.root().join("secret").exists(), "{call}");
    }
    assert!(bash(&guarded, &json!({"cmd": "cat", "env": {"A": "touch secret"}, "stdin": "touch secret"})).ok);

    let rules = "[[rule]]\ntools = [\"bash\"]\ncommands = [\"true\"]\ndecision = \"allow\"\n\
                 [[rule]]\ntools = [\"bash\"]\ndecision = \"ask\"\n";
    let asking = ToolServer::builder().policy(rules).start();
    assert!(bash(&asking, &json!({"cmd": "true"})).ok);
    let preloaded = bash(&asking, &json!({"cmd": "true", "env": {"LD_PRELOAD": "./x.so"}}));
    assert_eq!(preloaded.error_code(), Some(ErrorCode::ApprovalRequired), "{preloaded:?}");
}

#[test]
fn a_secret_in_a_variable_stays_out_of_journal_and_answer() {
    const SECRET: &str = "FAKE-tr0ub4dor-and-3";
    let server = ToolServer::start();
    let ran = bash(&server, &json!({"cmd": "test ${#DB_PASSWORD} = 20", "env": {"DB_PASSWORD": SECRET}}));
    assert_kept_out(SECRET, &server, &ran);
}
