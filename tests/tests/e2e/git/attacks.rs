//! What commands leave behind is never run by the operator's git. Each attack is first done by the operator
//! itself, where it must work.

use harness::corpus::Mode;

use super::operator::assert_safe;

pub(super) const STATUS: &str = "cd repo && git status; git log -1; git diff HEAD; git commit --dry-run";
const COMMIT: &str = "cd repo && git add -A; git commit --allow-empty -m host; git checkout -q -b host";

/// Steps of one or several commands, and what the operator then does.
const ATTACKS: &[(&[&str], &str)] = &[
    (&["git -C repo config core.fsmonitor $EVIL"], STATUS),
    (&["printf '[core]\\n\\tfsmonitor = %s\\n' $EVIL >> repo/.git/config"], STATUS),
    (&["printf '[CORE]FsMonitor=\"%s\" ; why\\n' $EVIL >> repo/.git/config"], STATUS),
    (&["printf '\\n[core]\\r\\nfsmonitor \\t= \\\\\\n %s' $EVIL >> repo/.git/config"], STATUS),
    (
        &["cd repo/.git; printf '\\xef\\xbb\\xbf[core]fsmonitor=%s\\n[core]bare=false\\n' $EVIL > config"],
        STATUS,
    ),
    (&["printf '[core]\\nfsmonitor = %s\\n' $EVIL > inc; git -C repo config include.path ../../inc"], STATUS),
    (
        &["printf '[core]\\nfsmonitor = %s\\n' $EVIL > a; printf '[include]\\npath = a\\n' > b; \
        git -C repo config includeIf.gitdir:/.path $PWD/b"],
        STATUS,
    ),
    (
        &["git -C repo config core.fsmonitor $EVIL; mv repo/.git/config c; ln -s ../../c repo/.git/config"],
        STATUS,
    ),
    (
        &[
            "git -C repo config extensions.worktreeConfig true",
            "printf '[core]\\nfsmonitor = %s\\n' $EVIL > repo/.git/config.worktree",
        ],
        STATUS,
    ),
    (
        &[
            "cd repo; printf '[core]\\nfsmonitor = %s\\n' $EVIL > .git/config.worktree",
            "git -C repo config extensions.worktreeConfig true",
        ],
        STATUS,
    ),
    (&["cp evil.sh repo/.git/hooks/pre-commit"], COMMIT),
    (
        &[
            "cp evil.sh repo/.git/hooks/pre-commit; chmod -x repo/.git/hooks/pre-commit",
            "chmod +x repo/.git/hooks/pre-commit",
        ],
        COMMIT,
    ),
    (
        &[
            "cp evil.sh repo/.git/hooks/pre-commit.sample",
            "cd repo/.git/hooks; mv pre-commit.sample pre-commit",
        ],
        COMMIT,
    ),
    (&["ln -s $EVIL repo/.git/hooks/post-checkout"], COMMIT),
    (&["mkdir h; cp evil.sh h/pre-commit; rm -r repo/.git/hooks; ln -s ../../h repo/.git/hooks"], COMMIT),
    (&["mkdir h; cp evil.sh h/pre-commit; git -C repo config core.hooksPath ../h"], COMMIT),
    (&["cp evil.sh repo/.git/hooks/pre-commit; chmod 111 repo/.git/hooks"], COMMIT),
    (&["cp -r repo evil; git -C evil config core.fsmonitor $EVIL", "rm -r repo; mv evil repo"], STATUS),
    (
        &["cp -r repo/.git evil; git -C repo config x.y z; git --git-dir=evil config core.fsmonitor $EVIL; \
        git --git-dir=evil config core.bare false; rm -r repo/.git; echo 'gitdir: ../evil' > repo/.git"],
        STATUS,
    ),
    (&["mv repo/.git data; git --git-dir=data config core.fsmonitor $EVIL; ln -s ../data repo/.git"], STATUS),
    (
        &["mv repo/.git data", "mkdir -p data/hooks; cp evil.sh data/hooks/pre-commit", "mv data repo/.git"],
        COMMIT,
    ),
    (
        &["cp -r repo/.git common; git --git-dir=common config core.fsmonitor $EVIL; \
        echo ../../common > repo/.git/commondir"],
        STATUS,
    ),
    (
        &["git -C repo worktree add -q ../wt; git -C repo config extensions.worktreeConfig true; \
        printf '[core]\\nfsmonitor = %s\\n' $EVIL > repo/.git/worktrees/wt/config.worktree"],
        "cd wt && git status",
    ),
    (
        &["git clone -q --bare repo bare; git --git-dir=bare config core.fsmonitor $EVIL; \
        git --git-dir=bare config core.bare false; git --git-dir=bare config core.worktree ."],
        "cd bare && git status",
    ),
    (
        &[
            "mkdir -p x/objects x/refs; echo 'ref: refs/heads/m' > x/HEAD",
            "printf '[core]\\nfsmonitor = %s\\nrepositoryformatversion = 0\\nworktree = .\\nbare = false\\n' \
             $EVIL > x/config",
        ],
        "cd x && git status",
    ),
    (
        &[
            "printf '[core]\\nfsmonitor = %s\\nrepositoryformatversion = 0\\nworktree = .\\nbare = false\\n' \
             $EVIL > config; mkdir -p x/objects x/refs",
            "mv config x/config",
            "echo 'ref: refs/heads/m' > x/HEAD",
        ],
        "cd x && git status",
    ),
    (&["git clone -q repo made; git -C made config core.fsmonitor $EVIL"], "cd made && git status"),
    (
        &["mkdir -p x/.aws; git init -q x/.aws/made; git -C x/.aws/made config core.fsmonitor $EVIL"],
        "cd x/.aws/made && git status",
    ),
    (
        &["git init -q made; git -C made config core.fsmonitor $EVIL; tar cf t made; rm -r made", "tar xf t"],
        "cd made && git status",
    ),
    (
        &["mkdir -p t/hooks; cp evil.sh t/hooks/pre-commit; git init -q --template=$PWD/t made"],
        "cd made && git commit --allow-empty -m x",
    ),
    (
        &["mkdir -p new/.git/hooks; cp evil.sh new/.git/hooks/pre-commit"],
        "git init -q new; cd new; git commit --allow-empty -m x",
    ),
    (
        &["git init -q deep; mkdir -p a/b/c; mv deep a/b/c/; git -C a/b/c/deep config core.fsmonitor $EVIL"],
        "cd a/b/c/deep && git status",
    ),
    (&["cd repo; git config filter.x.clean $EVIL; echo '* filter=x' > .gitattributes; echo y > f"], STATUS),
    (
        &["git -C repo config filter.x.smudge $EVIL; echo '* filter=x' > repo/.gitattributes; rm repo/f"],
        "cd repo && git checkout f",
    ),
    (
        &["git -C repo config diff.x.textconv $EVIL; echo '* diff=x' > repo/.gitattributes; echo y > repo/f"],
        STATUS,
    ),
    (
        &["git -C repo config diff.x.command $EVIL; echo '* diff=x' > repo/.gitattributes; echo y > repo/f"],
        STATUS,
    ),
    (&["git -C repo config diff.external $EVIL; echo y > repo/f"], STATUS),
    (&["git -C repo config alias.st \"!$EVIL\""], "cd repo && git st"),
    (&["git -C repo config alias.st \"-c core.fsmonitor=$EVIL status\""], "cd repo && git st"),
    (&["mkdir repo/git-x; cp evil.sh repo/git-x/y; git -C repo config alias.st x/y"], "cd repo && git st"),
    (&["git -C repo config core.editor $EVIL"], "cd repo && git commit --allow-empty"),
    (
        &["git -C repo config sequence.editor $EVIL; cd repo; git commit -q --allow-empty -m 2"],
        "cd repo && git rebase -i HEAD~1",
    ),
    (&["git -C repo config gpg.program $EVIL; git -C repo config commit.gpgSign true"], COMMIT),
    (
        &["git -C repo config core.sshCommand $EVIL; git -C repo remote add o ssh://localhost/x"],
        "cd repo && git fetch o",
    ),
    (
        &["git -C repo remote add o ../repo; git -C repo config remote.o.uploadpack $EVIL"],
        "cd repo && git fetch o",
    ),
    (
        &["git -C repo config protocol.ext.allow always; git -C repo remote add o \"ext::$EVIL\""],
        "cd repo && git fetch o",
    ),
    (
        &["git -C repo config credential.helper \"!$EVIL\""],
        "cd repo && git credential fill <<< 'url=https://x/'",
    ),
    (
        &["cd repo; git config trailer.x.cmd $EVIL; git config trailer.x.key X"],
        "cd repo && git interpret-trailers --trailer x=1 < f",
    ),
    (
        &["cd repo; git config merge.tool ../../../../../../../../..$EVIL; git branch b; echo 1 > f; \
        git commit -qam 1; git checkout -q b; echo 2 > f; git commit -qam 2; git merge -q master main"],
        "cd repo && yes | git mergetool",
    ),
    (
        &["cd repo; git commit -q --allow-empty -m 2; GIT_SEQUENCE_EDITOR=: git rebase -q \
        -x 'false' -x \"$EVIL\" HEAD~1"],
        "cd repo && git rebase --continue",
    ),
    (
        &["git init -q lib; cd lib; git commit -q --allow-empty -m 1; cd ../repo; \
        git -c protocol.file.allow=always submodule --quiet add ../lib lib; git commit -qm sub; \
        git -C lib config core.fsmonitor $EVIL"],
        STATUS,
    ),
    (
        &[
            "git init -q lib; cd lib; git commit -q --allow-empty -m 1; cd ../repo; \
        git -c protocol.file.allow=always submodule --quiet add ../lib lib",
            "cp evil.sh repo/.git/modules/lib/hooks/pre-commit",
        ],
        "cd repo/lib && git commit --allow-empty -m x",
    ),
];

fn check(mode: Mode) {
    assert_safe(
        mode,
        ATTACKS.iter().map(|(steps, work)| (String::new(), steps.to_vec(), (*work).to_owned())),
    );
}

#[test]
fn nothing_that_a_command_leaves_is_run_in_tier_a() {
    check(Mode::TierA);
}

#[test]
fn nothing_that_a_command_leaves_is_run_in_tier_b() {
    check(Mode::TierBAsOrdinaryUser);
}
