//! Hidden files can be removed unread, and public certificates are not hidden.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use harness::tool_server::ToolServer;
use protocol::ErrorCode;
use serde_json::json;

use crate::commands::bash;
use crate::hidden::SECRET;

const CERTIFICATE: &str =
    "# Issuer: CN=Root\n-----BEGIN CERTIFICATE-----\nMIIBvjCCAWWgAwIBAgIUQ\n-----END CERTIFICATE-----\n";

const KEY: &str =
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END RSA PRIVATE KEY-----\n";

fn start() -> ToolServer {
    ToolServer::builder().variable("AUTONOUS_TOOL_SANDBOX", "full").allowing_all().start()
}

#[test]
fn delete_removes_what_is_hidden_with_all_that_is_in_it_and_shows_nothing_of_it() {
    let server = start();
    let root = server.root();
    let deep = root.join("clone/.aws").join("d/".repeat(300));
    fs::create_dir_all(&deep).unwrap();
    for file in ["clone/.env", "clone/.aws/credentials", "clone/.aws/d/d/more", "clone/code.rs"] {
        fs::write(root.join(file), SECRET).unwrap();
    }
    fs::set_permissions(root.join("clone/.aws/d/d"), fs::Permissions::from_mode(0o555)).unwrap();
    std::os::unix::fs::symlink(root.join("clone/code.rs"), deep.join("link")).unwrap();
    let stopped = bash(&server, "rm -rf clone");
    let told = format!("{stopped:?}");
    assert!(!stopped.ok && told.contains("clone/.env") && told.contains("`delete`"), "{stopped:?}");
    fs::write(root.join("clone/code.rs"), SECRET).unwrap();
    let planned = server.call("delete", &json!({"path": "clone/.aws", "dry_run": true}));
    assert!(planned.ok && root.join("clone/.aws").exists(), "{planned:?}");
    for path in ["clone/.aws/credentials", "clone/.aws", "clone/.env"] {
        let gone = server.call("delete", &json!({"path": path}));
        assert!(gone.ok && !root.join(path).exists(), "{gone:?}");
        assert!(!format!("{gone:?}{planned:?}").contains(SECRET), "{gone:?}");
    }
    assert_eq!(fs::read_to_string(root.join("clone/code.rs")).unwrap(), SECRET, "a link is not followed");
    assert!(bash(&server, "rm -r clone && ! test -e clone").ok);
    let missing = server.call("delete", &json!({"path": ".env"}));
    assert_eq!(missing.meta.error.unwrap().code, ErrorCode::NotFound);
}

#[test]
fn nothing_else_becomes_of_what_is_hidden() {
    let server = start();
    fs::write(server.root().join(".env"), SECRET).unwrap();
    fs::create_dir(server.root().join(".ssh")).unwrap();
    fs::write(server.root().join(".ssh/id"), SECRET).unwrap();
    for (tool, arguments) in [
        ("read", json!({"path": ".env"})),
        ("read", json!({"path": ".ssh/id"})),
        ("write", json!({"path": ".env", "content": "x", "overwrite": true})),
        ("edit", json!({"path": ".env", "old": "KEEP", "new": "x"})),
        ("ls", json!({"path": ".ssh"})),
        ("grep", json!({"pattern": "KEEP", "path": ".ssh"})),
        ("delete", json!({"path": ".env", "expected_sha256": "0".repeat(64)})),
    ] {
        let answer = server.call(tool, &arguments);
        assert!(!answer.ok && !format!("{answer:?}").contains(SECRET), "{tool}: {answer:?}");
    }
    let commands = "cat .env; cp .env a; mv .env b; ln .env c; tar c . | tar x -C /tmp; cat /tmp/.env; \
                    mkdir d; mv .ssh d/; cat d/.ssh/id .ssh/id; git init -q; git add -A; git show :.env; \
                    cat a b c; true";
    let ran = bash(&server, commands);
    assert!(!ran.stdout.contains(SECRET), "{ran:?}");
    assert_eq!(fs::read_to_string(server.root().join(".env")).unwrap(), SECRET);
}

#[test]
fn certificates_are_shown_and_keys_are_not() {
    let server = start();
    let path = |name: &str| server.root().join(name);
    fs::create_dir_all(path("venv/certifi")).unwrap();
    fs::create_dir(path(".ssh")).unwrap();
    for (name, content) in [
        ("venv/certifi/cacert.pem", CERTIFICATE.to_owned()),
        ("server.pem", format!("{CERTIFICATE}{KEY}")),
        ("key.pem", KEY.to_owned()),
        (".ssh/known.pem", CERTIFICATE.to_owned()),
    ] {
        fs::write(path(name), content).unwrap();
    }
    let read = server.call("read", &json!({"path": "venv/certifi/cacert.pem"}));
    assert!(read.ok && read.stdout.contains("BEGIN CERTIFICATE"), "{read:?}");
    let listed = server.call("ls", &json!({"recursive": true})).stdout;
    assert!(listed.contains("cacert.pem") && !listed.contains("key.pem"), "{listed}");
    let found = server.call("find", &json!({"name_pattern": "*.pem"})).stdout;
    assert!(found.contains("cacert.pem") && !found.contains("server.pem"), "{found}");
    for withheld in ["server.pem", "key.pem", ".ssh/known.pem"] {
        let error = server.call("read", &json!({"path": withheld})).meta.error.unwrap();
        assert_eq!(error.code, ErrorCode::PathDenied, "{withheld}");
    }
    let shown = "cat venv/certifi/*.pem; cat server.pem key.pem .ssh/* 2>/dev/null; true";
    assert_eq!(bash(&server, shown).stdout, CERTIFICATE);

    // A key that comes to a certificate hides it, however it comes.
    fs::write(path("venv/certifi/cacert.pem"), format!("{CERTIFICATE}{KEY}")).unwrap();
    assert_eq!(bash(&server, shown).stdout, "");
    fs::write(path("venv/certifi/cacert.pem"), CERTIFICATE).unwrap();
    assert!(server.call("read", &json!({"path": "venv/certifi/cacert.pem"})).ok);
    assert_eq!(bash(&server, shown).stdout, CERTIFICATE);
    // Nothing is left of an environment that is removed.
    let removed = bash(&server, "rm -r venv && ! test -e venv");
    assert!(removed.ok, "{removed:?}");
}
