//! In which tier commands run, from what the tool server says of itself (`GET /capabilities`).

use serde_json::Value;

use super::Reading;

const REMEDY: &str = "`tool-server check` says what tier A needs; see docs/sandbox.md.";

/// How commands are held. `is_disabled`: the settings want none.
pub(crate) fn reading(capabilities: &Value, is_disabled: bool) -> Reading {
    let commands = &capabilities["commands"];
    let text = |field: &str| commands[field].as_str().map(str::to_owned);
    let remedy = text("remedy").unwrap_or_else(|| REMEDY.to_owned());
    if let (Some(obstacle), false) = (text("obstacle"), is_disabled) {
        return Reading::failed(format!("cannot run: {obstacle}"), remedy);
    }
    match text("tier") {
        _ if is_disabled => Reading::off("off: AUTONOUS_TOOL_DISABLE_EXEC is set"),
        Some(tier) if tier == "A" => Reading::ok("run in sandbox tier A"),
        Some(tier) => Reading::degraded(format!("run in sandbox tier {tier}"), remedy),
        None => {
            let reason = text("reason").unwrap_or_else(|| "unknown reason".to_owned());
            Reading::failed(format!("cannot run here: {reason}"), remedy)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::health::{Board, PartName, PartState};
    use serde_json::json;

    #[test]
    fn the_tier_decides_how_commands_are() {
        for (capabilities, is_disabled, expected) in [
            (json!({"commands": {"tier": "A"}}), false, PartState::Ok),
            (json!({"commands": {"tier": "B"}}), false, PartState::Degraded),
            (json!({"commands": {"tier": null, "reason": "no Landlock"}}), false, PartState::Failed),
            (json!({"commands": {"tier": null}}), true, PartState::Off),
            (json!({"commands": {"tier": "A", "obstacle": "a closed root"}}), false, PartState::Failed),
            (json!({"commands": {"tier": "A", "obstacle": "a closed root"}}), true, PartState::Off),
        ] {
            let board = Board::default();
            board.set(PartName::Commands, reading(&capabilities, is_disabled));
            assert_eq!(board.part(PartName::Commands).unwrap().state, expected, "{capabilities}");
        }
    }
}
