//! What differs between the engines: the verbs are written for SQLite, and read so by PostgreSQL.
//!
//! Functions and operators that SQLite has and PostgreSQL lacks, or has with another meaning, are made by the
//! first migration for PostgreSQL (`migrations/12-page/postgres.sql`): `->` and `->>` on JSON in a text,
//! `max` and `min` of two numbers, `date`, `strftime`, `text_part` (SQLite's `substr`), `json_values` (its
//! `json_each`). The rest is a matter of words, below.

/// SQLite's words and PostgreSQL's. Each stands for itself where no letter comes before it.
const WORDS: [(&str, &str); 6] = [
    // The indexes of SQLite are for the flag alone.
    ("where is_open", "where is_open = 1"),
    ("and is_open", "and is_open = 1"),
    // SQLite takes the tables of a cross join in the order in which they stand.
    ("cross join ", "join "),
    ("substr(", "text_part("),
    ("json_each(", "json_values("),
    ("instr(", "strpos("),
];

/// What a row has to do with the node that asks, as comments that SQLite passes over: its one node has all.
/// A program that is no node sees all rows. Each is a condition on the table that the comment names.
const OF_NODES: [(&str, &str); 3] = [
    // The row's chat has its workspace on this node.
    ("/* here: ", "(select node from chats where chats.channel = {}.channel and chats.chat_id = {}.chat_id)"),
    // The same, or this node speaks for the one that has it, which is gone.
    (
        "/* spoken for: ",
        "(select coalesce(spoken_for_by, name) from chats join nodes on name = node
          where chats.channel = {}.channel and chats.chat_id = {}.chat_id)",
    ),
    // This node has made the row.
    ("/* mine: ", "{}.node"),
];

/// The condition that a comment stands for, which begins `sql`, and what comes behind it.
fn of_node(sql: &str) -> Option<(String, &str)> {
    let (begin, node) = OF_NODES.iter().find(|(begin, _)| sql.starts_with(begin))?;
    let (table, rest) = sql[begin.len()..].split_once(" */")?;
    let node = node.replace("{}", table);
    Some((format!("and coalesce(current_setting('autonous.node', true), '') in ('', {node})"), rest))
}

/// The statement as PostgreSQL reads it: `?1` is `$1`, each bare `?` the next number, hints about indexes go.
pub fn for_postgres(sql: &str) -> String {
    let mut written = String::with_capacity(sql.len() + 16);
    let mut next_parameter = 1;
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        let stands_alone = !written.ends_with(|before: char| before.is_alphanumeric() || before == '_');
        if first == '\'' {
            let quoted = quoted_text(rest);
            written.push_str(quoted);
            rest = &rest[quoted.len()..];
        } else if first == '?' {
            let digits = rest[1..].bytes().take_while(u8::is_ascii_digit).count();
            let number = rest[1..=digits].parse().unwrap_or(next_parameter);
            next_parameter = number + 1;
            written.push_str(&format!("${number}"));
            rest = &rest[1 + digits..];
        } else if let Some((condition, after)) = of_node(rest) {
            written.push_str(&condition);
            rest = after;
        } else if stands_alone && let Some(after) = rest.strip_prefix("indexed by ") {
            let name = after.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
            rest = &after[name..];
        } else if stands_alone
            && let Some((word, other)) = WORDS.iter().find(|(word, _)| rest.starts_with(word))
        {
            written.push_str(other);
            rest = &rest[word.len()..];
        } else {
            written.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    written
}

/// A text in quotes, which begins `sql`: a quote in it is doubled, which reads as two texts.
fn quoted_text(sql: &str) -> &str {
    let end = sql[1..].find('\'').map_or(sql.len(), |end| end + 2);
    &sql[..end]
}

#[cfg(test)]
mod tests {
    use super::for_postgres;

    #[test]
    fn a_statement_is_read_by_both() {
        for (sqlite, postgres) in [
            ("select ?1, ?2, ?1", "select $1, $2, $1"),
            ("select a from b where c = ? and d = ?", "select a from b where c = $1 and d = $2"),
            ("select '?1 it''s substr(' || ?1", "select '?1 it''s substr(' || $1"),
            ("from events as e indexed by events_task join x", "from events as e  join x"),
            ("select substr(id, -8), my_substr(id)", "select text_part(id, -8), my_substr(id)"),
            ("a cross join b on c", "a join b on c"),
            ("select '", "select '"),
            ("select 'é' || ?", "select 'é' || $1"),
            (
                "select 1 from a where b /* mine: a */",
                "select 1 from a where b \
                 and coalesce(current_setting('autonous.node', true), '') in ('', a.node)",
            ),
        ] {
            assert_eq!(for_postgres(sqlite), postgres, "{sqlite}");
        }
    }
}
