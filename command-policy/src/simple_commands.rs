//! The simple commands of a line, for the operator's rules about calls.

use toolkit::policy::{CommandLine, SimpleCommand};

use super::command::Command;
use super::reader;
use super::word::Word;

/// What a command line would start. A line that cannot be read is not understood.
pub fn simple_commands(command_line: &str) -> CommandLine {
    let Ok(line) = reader::read(command_line) else { return CommandLine::default() };
    CommandLine {
        commands: line.commands.iter().map(simple).collect(),
        is_understood: !line.is_opaque && !line.commands.iter().any(is_compound_coprocess),
        is_plain: !line.has_side_effects,
    }
}

/// `coproc NAME { … }`, which the grammar takes for a command with arguments.
fn is_compound_coprocess(command: &Command) -> bool {
    command.name == "coproc" && command.arguments.iter().take(2).any(|word| !word.is_literal())
}

fn simple(command: &Command) -> SimpleCommand {
    let known = |word: &Word| word.is_literal().then(|| word.text().to_owned());
    let name = || Some(command.name.clone());
    let words = [name()].into_iter().chain(command.arguments.iter().map(known)).collect();
    let without_options = (command.name == "git").then(|| command.git_subcommand()).flatten();
    let without_options = without_options.map(|(subcommand, rest)| {
        [name(), Some(subcommand.to_owned())].into_iter().chain(rest.iter().map(known)).collect()
    });
    SimpleCommand { words, without_options }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The commands with `?` for an unknown word, whether they are all, and whether nothing else counts.
    fn check(line: &str, commands: &[&str], is_understood: bool, is_plain: bool) {
        let found = simple_commands(line);
        let text = |command: &SimpleCommand| {
            let words: Vec<&str> = command.words.iter().map(|word| word.as_deref().unwrap_or("?")).collect();
            words.join(" ")
        };
        let texts: Vec<String> = found.commands.iter().map(text).collect();
        assert_eq!(
            (texts.as_slice(), found.is_understood, found.is_plain),
            (
                commands.iter().map(|command| (*command).to_owned()).collect::<Vec<_>>().as_slice(),
                is_understood,
                is_plain,
            ),
            "{line}"
        );
    }

    #[test]
    fn commands_are_found_wherever_they_stand() {
        check("git push origin main", &["git push origin main"], true, true);
        check("cd a && /usr/bin/git push | tee log", &["cd a", "git push", "tee log"], true, true);
        check("(git 'push'; g\\it p\"us\"h)", &["git push", "git push"], true, true);
        check("echo $(git push)", &["echo ?", "git push"], true, true);
        check("env -i A=1 git push", &["git push", "env -i A=1 git push"], true, true);
        check("sh -c 'git push'", &["git push", "sh -c git push"], true, true);
        check("A=1 git push", &["git push"], true, false);
        check("git $X", &["git ?"], true, true);
        check("ls *", &["ls ?"], true, true);
        check("make 2>&1 >/dev/null <in", &["make"], true, true);
        check("make > Makefile", &["make"], true, false);
        check("git() { rm x; }; git", &["rm x", "git"], true, false);
        check("export PATH=.; git log", &["git log"], true, false);
        check("sh run.sh $X", &["sh run.sh ?"], true, true);
        check("for f in *.sh; do sh $f; done", &["sh ?"], true, true);
    }

    #[test]
    fn commands_behind_others_are_found() {
        let wrapped = "\
            time -p git push · strace -f git push · xvfb-run -a git push · watch -n 1 'git push' · \
            parallel git push ::: x · parallel 'git push {}' ::: x · trap -- 'git push' EXIT · \
            eval -- git push · setpriv --reuid 1 git push · chroot / git push · \
            xargs --arg-file list git push · script -qc 'git push' log · fish -c 'git push' · \
            coproc git push · env --chdir d git push";
        for line in wrapped.split(" · ") {
            let found = simple_commands(line);
            let is_push = |command: &SimpleCommand| {
                let words: Vec<&str> = command.words.iter().flatten().map(String::as_str).collect();
                words.starts_with(&["git", "push"])
            };
            assert!(found.commands.iter().any(is_push), "{line}: {found:?}");
        }
    }

    #[test]
    fn a_coprocess_of_several_commands_is_not_understood() {
        for line in ["coproc N { git push; }", "coproc { git push; }"] {
            assert!(!simple_commands(line).is_understood, "{line}");
        }
        assert!(simple_commands("coproc git push").is_understood);
    }

    #[test]
    fn what_people_write_is_understood() {
        let ordinary = include_str!("../tests/data/ordinary_commands.txt");
        let lines: Vec<String> = ordinary
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .map(|line| line.replace('⏎', "\n"))
            .collect();
        let unseen: Vec<&String> = lines.iter().filter(|line| !simple_commands(line).is_understood).collect();
        assert!(unseen.len() * 25 < lines.len(), "{} of {}: {unseen:#?}", unseen.len(), lines.len());
    }

    #[test]
    fn what_runs_unseen_is_not_understood() {
        let unseen = "\
            $X push · gi? push · {git,push} · sudo git push · echo git push | sh · bash -s < script · \
            sh -c \"$X\" · eval $X · if then ( · find . -exec {} \\; · bash <(echo git push) · \
            . <(echo git push) · source /dev/stdin <<< 'git push' · X='-c git'; bash $X · bash \"$@\" · \
            echo push | xargs -I% % · echo git push | xargs -I% sh -c % · echo git push | parallel · \
            parallel ::: 'git push' · shopt -s expand_aliases; alias ls='git push' · \
            F=a; read -r F <<< -c; sh $F";
        for line in unseen.split(" · ") {
            assert!(!simple_commands(line).is_understood, "{line}");
        }
        let push = simple_commands("git -C x --no-pager push");
        let known: Vec<_> = ["git", "push"].map(|word| Some(word.to_owned())).into();
        assert_eq!(push.commands[0].without_options, Some(known));
    }
}
