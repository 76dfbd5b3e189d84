//! The self-check of what the tool server itself guards around each command: what commands leave behind is
//! taken back, denied names are hidden and cost no more than they may, roots stay open, and memory is
//! bounded.
//!
//! The commands run as those of a call do, with the settings of the operator, but in a temporary root: what
//! people do in the real roots meanwhile is not to be taken back.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cage::command::{CommandRequest, Commands, Environment, Given, GuardedSpawner};
use cage::control_files::{ControlGuard, Leaving};
use files::output_store::OutputStore;
use progress_line::{ProgressLine, Unit};
use sandbox::{Depth, Finding, Tier, Verdict};
use toolkit::Call;

use crate::config::Config;
use crate::startup_resources::StartupResources;

/// How long a command may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// What the commands may have in memory, which is enough for each but the one that tries to take more.
const MEMORY_BYTES: u64 = 64 << 20;

/// What a denied file holds, and one beside it.
const SECRET: &str = "no command may read this";
const OPEN: &str = "every command may read this";

/// Leaves a repository with a setting that git executes and with an executable hook, or fails.
const LEAVE_REPOSITORY: &str = "mkdir -p repository/.git/{objects,refs,hooks} && cd repository/.git \
    && echo 'ref: refs/heads/main' > HEAD && printf '[core]\\n\\tfsmonitor = /bin/true\\n' > config \
    && printf '#!/bin/sh\\n' > hooks/pre-commit && chmod +x hooks/pre-commit && test -s config";

/// The same in a directory that the server cannot look into any more.
const LEAVE_CLOSED: &str = "cd ../../.. && chmod 0311 closed";

/// Goes below 15 directories of 240 characters, a path that no mount can name.
const GO_DEEP: &str = "for number in {1..15}; do mkdir $name && cd $name; done";

/// Leaves an index from which git would write a hook: one entry, with a name of twelve characters.
const LEAVE_INDEX: &str = "mkdir -p repository/.git/{objects,refs} && cd repository/.git \
    && echo 'ref: refs/heads/main' > HEAD \
    && { printf 'DIRC\\0\\0\\0\\2\\0\\0\\0\\1' && head -c 60 /dev/zero && printf '\\0\\14.git/hooks/x' \
    && head -c 26 /dev/zero; } > index && test -s index";

/// Replaces a program that a setting names, as far as it can.
const REPLACE_PROGRAM: &str = "cd named; echo replaced > run.sh; rm -f run.sh; echo replaced > run.sh; \
    echo replaced > new && mv -f new run.sh; true";

/// Programs in Perl that take memory which no process maps: its name, the script, and how many run at a
/// time. No other language that makes system calls is on as many machines.
const HOARDERS: [(&str, &str, usize); 3] = [
    ("in semaphores", "for (1..60) { defined semget(0, 32000, 0600) or refused() }", 1),
    (
        "in the buffers of sockets",
        "for (1..400) { socketpair(my $a, my $b, AF_UNIX, SOCK_STREAM, 0) or refused(); $a->blocking(0);
         1 while defined syswrite($a, q(x) x 4000); push @kept, $a, $b }",
        3,
    ),
    (
        "in tables of pages",
        "my $at = syscall(MMAP, 0, 3 << 30, 1, 0x22, -1, 0); $at > 0 or refused();
         for (0..1535) { syscall(MADVISE, $at + ($_ << 21), 4096, 22) == 0 or refused() }",
        30,
    ),
];

/// The numbers of `mmap` and `madvise`, from the kernel's tables of system calls.
const MMAP_AND_MADVISE: [u32; 2] = if cfg!(target_arch = "x86_64") { [9, 28] } else { [222, 233] };

/// What a hoarder says if it could take nothing, and if it held all of it.
const REFUSED: &str = "refused";
const HELD: &str = "held";

/// Tries the guards, each with commands in a temporary directory; `progress` shows how many.
pub fn findings(config: Config, progress: &ProgressLine) -> Vec<Finding> {
    match Trial::set_up(config) {
        Ok(trial) => {
            let tries: [fn(&Trial) -> Vec<Finding>; 7] = [
                Trial::git_leftovers,
                |trial| vec![trial.named_program()],
                |trial| vec![trial.denied_name()],
                |trial| vec![trial.flood()],
                |trial| vec![trial.closed_root()],
                |trial| vec![trial.memory()],
                |trial| trial.hoarders().into(),
            ];
            progress.step_of("Trying the guards around commands", 7, Unit::Things);
            let tried = tries.iter().map(|try_it| {
                let findings = try_it(&trial);
                progress.advance(1);
                findings
            });
            tried.flatten().collect()
        }
        Err(error) => vec![finding("set up a temporary root", Err(format!("{error:#}")), "")],
    }
}

/// A root of its own, with commands that can reach nothing else.
struct Trial {
    root: PathBuf,
    commands: Commands,
    tier: Option<Tier>,
    /// A name that is denied in every directory.
    denied: Option<String>,
    /// Removes the root at the end.
    _scratch: tempfile::TempDir,
}

impl Trial {
    fn set_up(config: Config) -> anyhow::Result<Self> {
        let scratch = tempfile::tempdir()?;
        let config = config.with_scratch(scratch.path())?;
        let StartupResources { workspaces, spawner, capabilities, .. } =
            StartupResources::acquire(&config, Depth::Quick)?;
        let spawner = spawner.map_err(anyhow::Error::msg)?;
        let (files, settings) = (&config.files, &config.commands);
        let call = Call::own(TIMEOUT);
        let guard = ControlGuard::open(Arc::clone(&workspaces), &files.output_dir, Box::new(|_, _| {}))?;
        let spawner = GuardedSpawner::new(spawner, Arc::clone(&workspaces), Vec::new(), guard)?;
        let output = Arc::new(OutputStore::open(&files.output_dir)?);
        let roots = workspaces.of(&call.scope).map_err(|error| anyhow::anyhow!(error.message))?;
        let environment = Environment::new(&settings.search_path, None, roots.paths(), &settings.variables);
        let root = roots.first().to_owned();
        let denied = files.denied.example().map(str::to_owned);
        let memory_bytes = settings.max_memory_bytes.min(MEMORY_BYTES);
        let commands = Commands::new(Ok(spawner), workspaces, environment, output, 0, memory_bytes);
        Ok(Self { root, commands, tier: capabilities.tier, denied, _scratch: scratch })
    }

    /// What a command line writes, or why it failed.
    fn run(&self, line: &str) -> Result<String, String> {
        let said = |error: protocol::ToolError| error.message;
        let request = CommandRequest {
            program: self.commands.program("bash").map_err(said)?,
            arguments: vec!["-c".into(), line.into()],
            given: Given::default(),
            workdir: self.root.clone(),
            timeout: TIMEOUT,
            tool: "bash",
            leaving: Leaving::TakenBack,
            has_terminal: false,
            keeps_state: false,
        };
        let ended = self.commands.run(&Call::own(TIMEOUT), request);
        ended.map(|success| success.stdout).map_err(|failure| said(failure.error))
    }

    fn git_leftovers(&self) -> Vec<Finding> {
        let name = "d".repeat(240);
        let deep = vec![name.as_str(); 15].join("/");
        let closed = format!("mkdir closed && cd closed && {LEAVE_REPOSITORY} && {LEAVE_CLOSED}");
        let tries = [
            (
                "leave a git setting that starts a program",
                LEAVE_REPOSITORY.to_owned(),
                "",
                has_setting as Remains,
            ),
            ("leave an executable git hook", LEAVE_REPOSITORY.to_owned(), "", has_hook),
            ("leave such a setting in a directory closed to the server", closed, "closed", has_setting),
            (
                "leave such a setting below a path longer than a mount takes",
                format!("name={name}; {GO_DEEP}; {LEAVE_REPOSITORY}"),
                &deep,
                has_setting,
            ),
            ("leave an index from which git writes a hook", LEAVE_INDEX.to_owned(), "", has_index),
        ];
        let tried = tries.map(|(attempt, line, top, remains)| {
            let git = self.root.join(top).join("repository/.git");
            let left = self.run(&line).map(|_| remains(&git));
            // The next one begins from nothing.
            let _ = fs::remove_dir_all(self.root.join("repository"));
            finding(attempt, left, "taken back when the command ended")
        });
        tried.into()
    }

    fn named_program(&self) -> Finding {
        let replaced = self.set_up_program().map_err(|error| error.to_string()).and_then(|program| {
            self.run(REPLACE_PROGRAM)?;
            Ok(fs::read_to_string(program).is_ok_and(|content| content.contains("replaced")))
        });
        finding("replace a program that a git setting names", replaced, "read-only, or taken back")
    }

    /// A repository of the operator with a setting that names a program in it.
    fn set_up_program(&self) -> std::io::Result<PathBuf> {
        let top = self.root.join("named");
        for directory in ["objects", "refs"] {
            fs::create_dir_all(top.join(".git").join(directory))?;
        }
        fs::write(top.join(".git/HEAD"), "ref: refs/heads/main\n")?;
        fs::write(top.join(".git/config"), "[core]\n\tfsmonitor = ./run.sh\n")?;
        fs::write(top.join("run.sh"), "#!/bin/sh\n")?;
        Ok(top.join("run.sh"))
    }

    fn denied_name(&self) -> Finding {
        const ATTEMPT: &str = "read a denied name, also after its directory was renamed";
        let lost = |detail: &str| Finding {
            attempt: ATTEMPT.to_owned(),
            verdict: Verdict::StatedLoss,
            detail: detail.to_owned(),
        };
        let Some(name) = &self.denied else {
            return lost("AUTONOUS_TOOL_DENY_PATHS has no plain name to try");
        };
        match self.reads(name) {
            Ok(true) if self.tier == Some(Tier::B) => lost("tier B hides it from the file tools alone"),
            read => finding(ATTEMPT, read, "hidden from commands"),
        }
    }

    /// Whether a command reads a file of this name; its directory is renamed by a command, then by us.
    fn reads(&self, name: &str) -> Result<bool, String> {
        let failed = |error: std::io::Error| error.to_string();
        let [first, second, third] = ["a", "b", "c"].map(|name| self.root.join(name));
        fs::create_dir(&first).map_err(failed)?;
        fs::write(first.join(name), SECRET).map_err(failed)?;
        fs::write(first.join("open"), OPEN).map_err(failed)?;
        let during = self.run(&format!("cat a/{name}; mv a b; cat b/{name}; true"))?;
        fs::rename(if second.exists() { second } else { first }, third).map_err(failed)?;
        let after = self.run(&format!("cat c/{name} c/open; true"))?;
        if after.contains(OPEN) {
            Ok(during.contains(SECRET) || after.contains(SECRET))
        } else {
            Err("the file beside it cannot be read either".to_owned())
        }
    }

    /// Each name that is to be hidden costs every later command time.
    fn flood(&self) -> Finding {
        const ATTEMPT: &str = "leave more hidden names than commands may";
        let Some(name) = &self.denied else {
            return finding(ATTEMPT, Ok(false), "there is no plain name to try");
        };
        let line = format!("mkdir flood{{1..4200}} && for i in {{1..4200}}; do : > flood$i/{name}; done");
        let got_through = self.run(&line).and_then(|_| {
            self.run("rm -rf flood*; true")?;
            Ok(self.root.join("flood4200").join(name).exists())
        });
        finding(ATTEMPT, got_through, "taken back when the command ended")
    }

    fn closed_root(&self) -> Finding {
        let got_through = self.run("chmod 000 .").map(|_| self.run("true").is_err());
        finding("close a root to the server", got_through, "open again when the command ended")
    }

    fn memory(&self) -> Finding {
        // `tail` keeps the whole of a last line.
        let got_through = match self.run("head -c 1073741824 /dev/zero | tail > /dev/null") {
            Err(error) if is_out_of_memory(&error) => Ok(false),
            ended => ended.map(|_| true),
        };
        finding("take more memory than a command may have", got_through, "killed")
    }

    /// The same of memory that no process maps.
    fn hoarders(&self) -> [Finding; 3] {
        let has_perl = self.run("perl -MSocket -MIO::Handle -e 1").is_ok();
        HOARDERS.map(|(what, script, processes)| {
            let attempt = format!("take more memory than a command may have {what}");
            if !has_perl {
                let detail = "not tried: it takes perl with its modules Socket and IO::Handle".to_owned();
                return Finding { attempt, verdict: Verdict::StatedLoss, detail };
            }
            match self.run(&hoard(script, processes)) {
                Err(error) if is_out_of_memory(&error) => finding(&attempt, Ok(false), "killed"),
                Ok(said) if said.contains(HELD) => finding(&attempt, Ok(true), ""),
                Ok(said) if said.contains(REFUSED) => finding(&attempt, Ok(false), "refused"),
                Ok(said) => finding(&attempt, Err(format!("it ended otherwise: {said}")), ""),
                Err(error) => finding(&attempt, Err(error), ""),
            }
        })
    }
}

/// A line that runs a script in so many processes, each of which holds what it took for 3 s.
fn hoard(script: &str, processes: usize) -> String {
    let [mmap, madvise] = MMAP_AND_MADVISE.map(|number| number.to_string());
    let script = script.replace("MMAP", &mmap).replace("MADVISE", &madvise);
    format!(
        "for i in {{1..{processes}}}; do perl -MSocket -MIO::Handle -e '
         sub refused {{ print q({REFUSED}); exit }}
         my @kept; {script}; sleep 3; print q({HELD})' & done; wait"
    )
}

fn is_out_of_memory(error: &str) -> bool {
    error.contains("AUTONOUS_TOOL_MAX_MEMORY_MB")
}

/// Whether what a command left is there, below this git directory.
type Remains = fn(&Path) -> bool;

fn has_hook(git: &Path) -> bool {
    git.join("hooks/pre-commit").exists()
}

fn has_index(git: &Path) -> bool {
    git.join("index").exists()
}

fn has_setting(git: &Path) -> bool {
    match fs::read_to_string(git.join("config")) {
        Ok(config) => config.contains("fsmonitor"),
        Err(error) => error.kind() != std::io::ErrorKind::NotFound,
    }
}

/// `got_through`: whether the attempt did, or why it could not be made. `held`: what stopped it.
fn finding(attempt: &str, got_through: Result<bool, String>, held: &str) -> Finding {
    let (verdict, detail) = match got_through {
        Ok(false) => (Verdict::Holds, held.to_owned()),
        Ok(true) => (Verdict::Escaped, "nothing stopped it".to_owned()),
        Err(error) => (Verdict::Broken, error),
    };
    Finding { attempt: attempt.to_owned(), verdict, detail }
}
