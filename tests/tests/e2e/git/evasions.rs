//! What a command leaves where a guard could fail to look: in directories that it closes, below paths that no
//! call takes, behind more bytes than are read at once, and in the files of git that are no settings.

use harness::corpus::Mode;
use serde_json::json;

use super::attacks::STATUS;
use super::operator::{Operator, assert_safe};

/// Makes 15 directories of 240 characters, and goes there.
const DEEP: &str =
    "n=$(printf 'd%.0s' {1..240}); top=$PWD; p=; for i in {1..15}; do mkdir -p $n; cd $n; p=$p$n/; done; ";

/// What the names in braces stand for.
const NAMES: [(&str, &str); 5] = [
    // Puts a hook into the index, below a name that `FORGE` changes.
    (
        "{ADD}",
        "cd repo; mkdir -p +git/hooks; cp ../evil.sh +git/hooks/post-checkout; git add +git; rm -r +git",
    ),
    ("{DEEP}", DEEP),
    // Prints a setting that runs the evil script.
    ("{EVIL_CONFIG}", "printf '[core]\\nfsmonitor = %s\\n' $EVIL"),
    // Writes `.git` for `+git` into an index, which git itself refuses; the names sort as they did.
    ("{FORGE}", "perl -pi -e 's/\\+git/.git/g; s/\\+\\+\\//..\\//g'"),
    // Makes a repository that runs the evil script, in a directory `d`.
    ("{MADE}", "git init -q d/r; git -C d/r config core.fsmonitor $EVIL;"),
];

const WORK_IN_MADE: &str = "cd d/r && git status";
const CHECKOUT: &str = "cd repo && git checkout -- .; git checkout -q -b host; git status";

/// What the agent does, step by step, and then the operator's work.
const EVASIONS: &[(&[&str], &str)] = &[
    // Directories that one command fills and closes.
    (&["mkdir d; {MADE} chmod 0311 d"], WORK_IN_MADE),
    (&["mkdir d; {MADE} chmod 0311 d/r d"], WORK_IN_MADE),
    (&["mkdir d; {MADE} chmod 0111 d/r/.git d/r d"], WORK_IN_MADE),
    (&["mkdir d; {MADE} chmod 0 d/r d"], "chmod 755 d d/r; cd d/r && git status"),
    (
        &["mkdir -p a/b/c; cd a/b/c; mkdir d; {MADE} cd ../../..; chmod 0311 a/b/c/d a/b/c a/b a"],
        "cd a/b/c/d/r && git status",
    ),
    // Directories that one command makes or closes, and another fills; and those of hooks.
    (&["git init -q d/r", "{EVIL_CONFIG} >> d/r/.git/config; chmod 0311 d/r/.git d/r d"], WORK_IN_MADE),
    (
        &["git init -q d/r", "{EVIL_CONFIG} >> d/r/.git/config; chmod 0 d"],
        "chmod 755 d; cd d/r && git status",
    ),
    (&["mkdir d; chmod 0311 d", "{MADE}"], WORK_IN_MADE),
    (&["git init -q d/r; chmod 0311 d", "{EVIL_CONFIG} >> d/r/.git/config"], WORK_IN_MADE),
    (
        &["cp evil.sh repo/.git/hooks/pre-commit; chmod 0311 repo/.git/hooks repo/.git"],
        "cd repo && git commit --allow-empty -m host",
    ),
    // More bytes than are read at once, and the evil ones after them.
    (
        &["head -c 17000000 /dev/zero | tr '\\0' '\\n' >> repo/.git/config; \
         {EVIL_CONFIG} >> repo/.git/config"],
        STATUS,
    ),
    (
        &["head -c 17000000 /dev/zero | tr '\\0' '#' > more; echo >> more; {EVIL_CONFIG} >> more; \
         cp more repo/.git/config.worktree; git -C repo config extensions.worktreeConfig true"],
        STATUS,
    ),
    (
        &["cd repo; git commit -q --allow-empty -m 2; \
         GIT_SEQUENCE_EDITOR=: git rebase -q -x false HEAD~1; \
         (head -c 17000000 /dev/zero | tr '\\0' '#'; echo; echo \"exec $EVIL\") > \
         .git/rebase-merge/git-rebase-todo"],
        "cd repo && git rebase --continue",
    ),
    // Repositories below a path that no call takes, which a link makes short.
    (
        &["{DEEP} git init -q r; git -C r config core.fsmonitor $EVIL; cd $top; ln -s ${p}r short"],
        "cd short && git status",
    ),
    (
        &["{DEEP} cp -r $top/repo r; cp $EVIL r/.git/hooks/pre-commit; cd $top; ln -s ${p}r short"],
        "cd short && git commit --allow-empty -m x",
    ),
    // Indexes that make git write into its own directory.
    (&["{ADD}; {FORGE} .git/index"], CHECKOUT),
    (&["cd repo; git update-index --index-version 4; cd ..; {ADD}; {FORGE} .git/index"], CHECKOUT),
    (&["{ADD}; git update-index --split-index; {FORGE} .git/index .git/sharedindex.*"], CHECKOUT),
    (
        &["cd repo; git worktree add -q ../wt; cd ../wt; mkdir -p ++/repo/+git/hooks; \
         cp ../evil.sh ++/repo/+git/hooks/post-checkout; git add ++; rm -r ++; \
         {FORGE} ../repo/.git/worktrees/wt/index"],
        "cd wt && git checkout -- .; cd ../repo; git checkout -q -b host",
    ),
    (
        &["git init -q --object-format=sha256 n; cd n; mkdir -p +git/hooks; \
         cp ../evil.sh +git/hooks/post-checkout; git add +git; git commit -qm m; rm -r +git; \
         {FORGE} .git/index"],
        "cd n && git checkout -- .; git checkout -q -b host",
    ),
    // A remote in a file of its own.
    (
        &["git init -q d; mkdir -p d/.git/remotes; \
         printf 'URL: ext::sh -c %s\\nPull: a:b\\n' $EVIL > d/.git/remotes/o"],
        "cd d && git -c protocol.ext.allow=always fetch o",
    ),
];

fn check(mode: Mode) {
    let filled =
        |step: &&str| NAMES.iter().fold((*step).to_owned(), |step, (name, it)| step.replace(name, it));
    let attacks = EVASIONS.iter().map(|(steps, work)| {
        (String::new(), steps.iter().map(filled).collect::<Vec<_>>(), (*work).to_owned())
    });
    assert_safe(mode, attacks);
}

#[test]
fn nothing_hides_from_the_check_in_tier_a_as_whoever_runs_the_tests() {
    check(Mode::TierA);
}

#[test]
fn nothing_hides_from_the_check_in_tier_a_as_an_ordinary_user() {
    check(Mode::TierAAsOrdinaryUser);
}

#[test]
fn nothing_hides_from_the_check_in_tier_b() {
    check(Mode::TierBAsOrdinaryUser);
}

#[test]
fn a_directory_that_a_command_closes_is_open_again_and_the_answer_says_so() {
    let operator = Operator::start(Mode::TierAAsOrdinaryUser);
    let root = operator.server.root();
    let ran = operator.command(&root, "mkdir -p d/e; echo x > d/e/f; chmod 0111 d/e; chmod 0 d");
    assert!(ran.ok, "{ran:?}");
    let notice = ran.meta.notices.join("\n");
    assert!(notice.contains("may read, write and search") && notice.contains("/d/e\""), "{notice}");
    let again = operator.command(&root, "cat d/e/f; rm -r d");
    assert_eq!((again.stdout.as_str(), again.ok), ("x\n", true), "{again:?}");
}

#[test]
fn what_people_close_stays_closed_and_where_it_cannot_be_hidden_no_command_runs() {
    let close = "mkdir d; echo secret > d/f; chmod 0311 d";
    let operator = Operator::start(Mode::TierAAsOrdinaryUser);
    let root = operator.server.root();
    operator.shell(&root, close);
    let ran = operator.command(&root, "chmod 755 d; cat d/f; ls -ld d");
    assert!(!ran.stdout.contains("secret"), "{ran:?}");
    assert!(operator.shell(&root, "stat -c %a d").starts_with("311"));
    assert!(!operator.command(&root, "cat d/f").ok);

    let operator = Operator::start(Mode::TierBAsOrdinaryUser);
    let root = operator.server.root();
    assert!(operator.command(&root, "true").ok);
    operator.shell(&root, close);
    let refused = operator.command(&root, "git init -q d/r");
    let error = refused.meta.error.unwrap();
    assert!(error.message.contains("cannot be checked") && error.message.contains("/d\""), "{error:?}");
    assert!(error.hint.contains("chmod u+rwx"));
    operator.shell(&root, "chmod 755 d");
    assert!(operator.command(&root, "true").ok);
}

#[test]
fn what_lies_deep_stays_if_it_is_harmless() {
    let operator = Operator::start(Mode::TierAAsOrdinaryUser);
    let root = operator.server.root();
    let line = format!(
        "{DEEP} git init -q r; cd r; echo x > f; git add f; git commit -qm m; cd $top; ln -s ${{p}}r short"
    );
    let ran = operator.command(&root, &line);
    assert!(ran.ok && ran.meta.data["created_control_files"] == json!([]), "{ran:?}");
    let said = operator.shell(&root, "cd short && git status && git log --format=%s");
    assert!(said.contains("nothing to commit") && said.ends_with("m\n"), "{said}");
}

/// git refuses these by itself, so trees need not be looked at: if that changes, this fails.
#[test]
fn trees_with_forbidden_paths_are_refused_by_git() {
    let operator = Operator::start(Mode::TierA);
    let root = operator.server.root();
    operator.shell(
        &root,
        "git init -q r; cd r; git commit -q --allow-empty -m m; printf '#!/bin/sh\\ntouch RAN\\n' > e",
    );
    for name in [".git", ".GIT", "git~1", ".git ", ".git."] {
        let forge = format!(
            "cd r; b=$(git hash-object -w e); \
             bytes() {{ perl -e 'print pack \"H*\", shift' $1; }}; \
             tree() {{ (printf \"$1 $2\\0\"; bytes $3) | git hash-object -t tree -w --stdin --literally; }}; \
             h=$(tree 100755 post-checkout $b); g=$(tree 40000 hooks $h); t=$(tree 40000 '{name}' $g); \
             git update-ref refs/heads/evil $(git commit-tree -m x $t)"
        );
        let ran = operator.command(&root, &forge);
        assert!(ran.ok, "{ran:?}");
        let said = operator.shell(
            &root,
            "cd r && git checkout evil; git reset --hard evil; git checkout evil -- .; git read-tree evil; \
            git checkout-index -a; git merge evil; ls -A . .git/hooks; git reset -q",
        );
        assert!(said.contains("invalid path"), "{name}: {said}");
        assert!(!said.contains("post-checkout\n"), "{name}: {said}");
    }
}
