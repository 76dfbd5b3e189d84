//! With divided roots, a command sees its own directory and nothing of the others, not even their names.

use std::fs;

use crate::fixture::{Fixture, Run, Scenario};

const SECRET: &str = "SECRET-OF-BOB";

/// What Alice tries, in her directory beside Bob's. Each succeeds if it exits with 0.
const ATTACKS: [&str; 14] = [
    "cat ../bob/secret.txt",
    "ls -d ../bob",
    "stat ../bob/secret.txt",
    "ls .. | grep bob",
    "find .. -name secret.txt | grep .",
    "cd ../bob && cat secret.txt",
    "cat link-to-bob/secret.txt",
    "chmod 600 ../bob/secret.txt",
    "echo mine > ../bob/new.txt",
    "mv ../bob/secret.txt .",
    "ln ../bob/secret.txt copy",
    "mkdir ../carol",
    "cp -r .. /tmp/all && cat /tmp/all/bob/secret.txt",
    "rmdir ../empty && ln -s /etc ../empty",
];

impl Fixture {
    fn with_alice_and_bob(scenario: Scenario) -> Self {
        let fixture = Self::new(scenario);
        fixture.prepare(&format!(
            "mkdir alice bob empty && echo {SECRET} > bob/secret.txt && ln -s ../bob alice/link-to-bob"
        ));
        fixture
    }

    fn run_as_alice(&self, script: &str) -> Run {
        self.run_with(&["--own", &self.beneath("alice")], script)
    }

    fn bobs_files(&self) -> Vec<String> {
        let names = fs::read_dir(self.root()).unwrap().chain(fs::read_dir(self.root().join("bob")).unwrap());
        let mut names: Vec<String> = names.map(|name| name.unwrap().path().display().to_string()).collect();
        names.sort();
        names
    }
}

#[test]
fn nothing_of_another_directory_can_be_seen_or_changed() {
    for attack in ATTACKS {
        for scenario in Scenario::all().into_iter().filter(|scenario| !scenario.is_tier_b()) {
            let fixture = Fixture::with_alice_and_bob(scenario);
            let run = fixture.run(&format!("cd alice; {attack}"));
            assert!(run.succeeded(), "works while the root is shared: {run:?}");

            let fixture = Fixture::with_alice_and_bob(scenario);
            let before = fixture.bobs_files();
            let run = fixture.run_as_alice(attack);
            assert!(run.was_executed() && !run.succeeded(), "{run:?}");
            assert!(!run.output.contains(SECRET), "{run:?}");
            assert_eq!(fixture.bobs_files(), before, "{run:?}");
        }
    }
}

#[test]
fn a_command_works_in_its_own_directory_as_in_a_root() {
    let script = "pwd && mkdir -p a/b && echo x > a/b/c && mv a/b/c a/d && ln a/d e && ln -s e f && cat f \
                  && git init -q g && cd g \
                  && git -c user.email=a@b.c -c user.name=n commit -q --allow-empty -m m \
                  && git log --format=%s && ls ..  && ls ../..";
    for scenario in Scenario::all().into_iter().filter(|scenario| !scenario.is_tier_b()) {
        let fixture = Fixture::with_alice_and_bob(scenario);
        let covered = fixture.beneath("alice/hidden");
        fs::write(&covered, SECRET).unwrap();
        let run = fixture.run_with(
            &["--own", &fixture.beneath("alice"), "--hide", &covered],
            &format!("{script}; cat ../hidden"),
        );
        let expected =
            format!("{}\nx\nm\na\ne\nf\ng\nhidden\nlink-to-bob\nalice\n", fixture.beneath("alice"));
        assert_eq!(run.output, expected, "{run:?}");
        assert_eq!(fs::read_to_string(fixture.root().join("alice/a/d")).unwrap(), "x\n");
    }
}

#[test]
fn a_command_does_not_start_when_another_directory_is_in_the_place_of_its_own() {
    for scenario in Scenario::all().into_iter().filter(|scenario| !scenario.is_tier_b()) {
        let fixture = Fixture::with_alice_and_bob(scenario);
        let (own, elsewhere) = (fixture.beneath("alice"), fixture.beneath("bob"));
        fs::remove_dir_all(&own).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &own).unwrap();
        let run = fixture.run_as_alice("cat secret.txt");
        assert!(!run.was_executed(), "{run:?}");
    }
}

#[test]
fn without_namespaces_the_roots_cannot_be_divided() {
    let fixture = Fixture::with_alice_and_bob(Scenario::OrdinaryInTierB);
    let run = fixture.run("cd alice; chmod 640 ../bob/secret.txt; stat ../bob/secret.txt");
    assert!(run.succeeded(), "this is why: {run:?}");
    let run = fixture.run_as_alice("true");
    assert!(!run.was_executed(), "{run:?}");
}
