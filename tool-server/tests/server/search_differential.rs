//! `grep` and `find` against the programs `rg` and `fd`, on three real trees.
//!
//! The same question is put to the tool and to the program, and both have to give the same set. The
//! registry's sources are bounded to what an unoptimised build searches quickly; with
//! `AUTONOUS_TEST_WHOLE_REGISTRY` set, all of them are searched where they lie.

use std::path::Path;

use crate::differential::{Comparison, Tree};
use serde_json::{Value, json};

/// Questions that suit any tree.
fn greps() -> Vec<Value> {
    vec![
        json!({"pattern": "fn [a-z_]+\\("}),
        json!({"pattern": "TODO|FIXME"}),
        json!({"pattern": "unsafe", "output": "files"}),
        json!({"pattern": "impl", "output": "count"}),
        json!({"pattern": "error", "case_sensitive": false}),
        json!({"pattern": "(", "literal": true, "output": "count"}),
        json!({"pattern": "a.b", "literal": true}),
        json!({"pattern": "ÜBER|größe|é", "case_sensitive": false}),
        json!({"pattern": "^$", "output": "count"}),
        json!({"pattern": ";$", "output": "count"}),
        json!({"pattern": "\\bself\\b", "output": "files"}),
        json!({"pattern": "[0-9]{4}-[0-9]{2}", "include_hidden": true}),
        json!({"pattern": "license", "case_sensitive": false, "include_ignored": true, "output": "files"}),
        json!({"pattern": "use", "glob": "*.rs", "include_hidden": true, "include_ignored": true,
               "output": "count"}),
        json!({"pattern": "name", "glob": "*.{toml,md}", "include_hidden": true, "include_ignored": true}),
        json!({"pattern": "mod", "glob": "**/src/*.rs", "include_hidden": true, "include_ignored": true}),
        json!({"pattern": "there is no such text anywhere"}),
        json!({"pattern": "--files", "literal": true}),
        json!({"pattern": "\\p{Greek}|[一-龥]", "include_hidden": true, "include_ignored": true}),
        json!({"pattern": ".", "output": "count", "include_hidden": true, "include_ignored": true}),
    ]
}

fn finds() -> Vec<Value> {
    vec![
        json!({}),
        json!({"include_hidden": true}),
        json!({"include_ignored": true}),
        json!({"include_hidden": true, "include_ignored": true}),
        json!({"type": "file"}),
        json!({"type": "dir"}),
        json!({"name_pattern": "*.rs"}),
        json!({"name_pattern": "*.rs", "type": "file", "include_ignored": true}),
        json!({"name_pattern": "[A-M]*"}),
        json!({"name_pattern": "*.{md,toml,yml}", "include_hidden": true}),
        json!({"name_pattern": "?????"}),
        json!({"name_pattern": "*/src/*.rs"}),
        json!({"name_pattern": "**/src/**/*.rs"}),
        json!({"name_pattern": "src", "type": "dir"}),
        json!({"name_pattern": ".*", "include_hidden": true}),
        json!({"max_depth": 1}),
        json!({"max_depth": 2, "type": "dir"}),
        json!({"max_depth": 3, "include_hidden": true, "include_ignored": true}),
        json!({"name_pattern": "no-such-name"}),
        json!({"name_pattern": "*[!a-z0-9]*", "type": "file"}),
    ]
}

/// Puts all questions to a tree and to the programs.
async fn compare(
    tree: &Tree,
    greps: impl IntoIterator<Item = Value>,
    finds: impl IntoIterator<Item = Value>,
) {
    let comparison = Comparison::of(tree).await;
    let mut results = 0;
    for question in greps {
        results += comparison.grep(&question).await;
    }
    for question in finds {
        results += comparison.find(&question).await;
    }
    assert!(results > 1000, "the questions suit the tree: {results} results");
}

#[tokio::test]
async fn this_repository_is_searched_as_rg_and_fd_do() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let in_sources = [json!({"pattern": "Roots", "path": "tool-server/src"})];
    let below = [json!({"path": "tool-server"}), json!({"path": "tool-server/src", "name_pattern": "*.rs"})];
    let tree = Tree::copied(workspace, u64::MAX);
    compare(&tree, greps().into_iter().chain(in_sources), finds().into_iter().chain(below)).await;
}

#[tokio::test]
async fn the_registry_is_searched_as_rg_and_fd_do() {
    compare(&Tree::registry(), greps(), finds()).await;
}

#[tokio::test]
async fn a_tree_of_fifty_thousand_files_is_searched_as_rg_and_fd_do() {
    let greps = [
        json!({"pattern": "needle"}),
        json!({"pattern": "NEEDLE", "case_sensitive": false, "include_hidden": true,
               "include_ignored": true}),
        json!({"pattern": "größe", "case_sensitive": false, "include_hidden": true, "output": "count"}),
        json!({"pattern": "^$", "include_ignored": true, "output": "count"}),
        json!({"pattern": "binary", "output": "files"}),
        json!({"pattern": "()", "literal": true, "path": "d06", "include_hidden": true}),
        json!({"pattern": "needle", "path": "d07", "output": "files"}),
        json!({"pattern": "needle", "path": "d07/s3", "include_hidden": true}),
        json!({"pattern": "needle$", "path": "odd", "output": "count"}),
        json!({"pattern": "needle", "glob": "d0[1-3]/**", "include_hidden": true, "include_ignored": true}),
    ];
    let finds = [
        json!({}),
        json!({"include_hidden": true}),
        json!({"include_ignored": true, "type": "file", "name_pattern": "*.tmp"}),
        json!({"include_hidden": true, "type": "dir"}),
        json!({"name_pattern": "**/src/**/*.rs", "include_hidden": true}),
        json!({"name_pattern": "d0*/s1/*.{rs,log}"}),
        json!({"name_pattern": "?????"}),
        json!({"max_depth": 2}),
        json!({"path": "odd", "include_hidden": true, "include_ignored": true}),
        json!({"path": "d07/s3"}),
        json!({"path": "d11", "include_hidden": true}),
        json!({"path": "links"}),
        json!({"name_pattern": "f*1.txt", "path": "d03", "type": "file"}),
    ];
    compare(&Tree::generated(), greps, finds).await;
}
