//! What `supervisor run` prints once everything is ready: addresses and first commands to try.

use std::path::Path;

use supervisor::tokens::Tokens;

/// The text; `program` is how the supervisor was called.
pub(super) fn next_steps(tokens: &Tokens, has_model: bool, program: &str, data: &Path) -> String {
    let Tokens { control_url, tool_url, tool_token, .. } = tokens;
    let command = format!("{} --data-dir {}", quoted(program), quoted(&data.display().to_string()));
    let (message, note) =
        if has_model { ("'What is in the workspace?'", "") } else { ("'ls path=.'", NO_MODEL) };
    format!(
        "\
Autonous is ready.
  control port  {control_url}
  tool server   {tool_url}

Ask it something:
  {command} chat {message}
{note}
Look at it and talk to it in a browser:
  {command} open

See what was done:
  {command} tree

Call a tool yourself:
  curl -s -XPOST {tool_url}/tools/ls -H 'authorization: Bearer {tool_token}' \
-H 'content-type: application/json' -d '{{\"path\":\".\"}}'

Try the tools in a browser:
  {tool_url}/docs/#token={tool_token}

Stop it with Ctrl-C."
    )
}

/// Where a message is the call of a tool.
const NO_MODEL: &str = "\
\x20 No model is configured, so a message is the call of a tool. To get answers, start it with the key of a
  model, such as ANTHROPIC_API_KEY or OPENAI_API_KEY, or with OPENAI_BASE_URL: see docs/models.md.
";

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%:,=".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_can_be_pasted_into_a_shell() {
        let tokens = Tokens {
            control_token: "c".to_owned(),
            tool_token: "t0".to_owned(),
            approver_token: "a0".to_owned(),
            control_url: "http://127.0.0.1:1".to_owned(),
            tool_url: "http://127.0.0.1:2".to_owned(),
        };
        let text = next_steps(&tokens, false, "bin/supervisor", Path::new("/my data"));
        assert!(text.contains("No model is configured") && text.contains("docs/models.md"), "{text}");
        let with_model = next_steps(&tokens, true, "bin/supervisor", Path::new("/my data"));
        assert!(with_model.contains(" chat 'What is in the workspace?'\n\nLook at it"), "{with_model}");
        assert!(!with_model.contains("No model"), "{with_model}");
        for line in [
            "  bin/supervisor --data-dir '/my data' chat 'ls path=.'",
            "  bin/supervisor --data-dir '/my data' open",
            "  curl -s -XPOST http://127.0.0.1:2/tools/ls -H 'authorization: Bearer t0' \
             -H 'content-type: application/json' -d '{\"path\":\".\"}'",
            "  http://127.0.0.1:2/docs/#token=t0",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }
}
