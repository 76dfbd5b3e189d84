//! The text of `TODO.md` and `TODO.DONE.md`: items in lines, and everything else as it is.
//!
//! A file is only ever changed line by line: the counts and the time in its front matter, a line that is
//! added, a line that is taken out. Other lines stay byte by byte where they are.

use super::reference::without_references;

/// Which of the two files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Open,
    Done,
}

impl Kind {
    pub(super) const fn file(self) -> &'static str {
        match self {
            Self::Open => "TODO.md",
            Self::Done => "TODO.DONE.md",
        }
    }

    const fn count_key(self) -> &'static str {
        match self {
            Self::Open => "open_count",
            Self::Done => "done_count",
        }
    }

    const fn heading(self) -> &'static str {
        match self {
            Self::Open => "# TODO",
            Self::Done => "# TODO: done",
        }
    }

    const fn bullet(self) -> &'static str {
        match self {
            Self::Open => "- [ ] ",
            Self::Done => "- [x] ",
        }
    }
}

/// One line of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item {
    /// As `2026-11-22 09:00`, in UTC.
    pub(super) created_at: String,
    pub(super) done_at: Option<String>,
    /// As `tg:-1001`.
    pub(super) chat_id: Option<String>,
    pub(super) text: String,
}

impl Item {
    fn parse(line: &str, kind: Kind) -> Option<Self> {
        let (fields, text) = line.trim_end().strip_prefix(kind.bullet())?.split_once(" | ")?;
        let (mut created_at, mut done_at, mut chat_id) = (None, None, None);
        for field in fields.split(", ") {
            let (name, value) = field.strip_prefix('[')?.strip_suffix(')')?.split_once("](")?;
            let place = match name {
                "Created" => &mut created_at,
                "Done" => &mut done_at,
                "ChatID" => &mut chat_id,
                _ => return None,
            };
            if place.replace(value.to_owned()).is_some() {
                return None;
            }
        }
        let text = text.trim().to_owned();
        (!text.is_empty()).then_some(Self { created_at: created_at?, done_at, chat_id, text })
    }

    fn line(&self, kind: Kind) -> String {
        let mut fields = vec![format!("[Created]({})", self.created_at)];
        fields.extend(self.done_at.iter().map(|at| format!("[Done]({at})")));
        fields.extend(self.chat_id.iter().map(|chat| format!("[ChatID]({chat})")));
        format!("{}{} | {}", kind.bullet(), fields.join(", "), self.text)
    }

    /// Whether it says the same as a text, whatever the case, the space and the references.
    pub(super) fn says(&self, text: &str) -> bool {
        plain(&self.text) == plain(text)
    }

    /// Whether a text is a part of what it says, whatever the case, the space and the references.
    pub(super) fn has(&self, text: &str) -> bool {
        let part = plain(text);
        !part.is_empty() && plain(&self.text).contains(&part)
    }
}

fn plain(text: &str) -> String {
    let text = without_references(text).to_lowercase();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A file of items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct List {
    kind: Kind,
    /// With their ends.
    lines: Vec<String>,
    /// How its lines end.
    end: &'static str,
}

impl List {
    /// The list in a text; of no file, an empty one.
    pub(super) fn parse(kind: Kind, text: &str) -> Self {
        let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
        Self { kind, lines: text.split_inclusive('\n').map(str::to_owned).collect(), end }
    }

    pub(super) fn text(&self) -> String {
        self.lines.concat()
    }

    /// The items with the indexes of their lines, newest first as they stand.
    pub(super) fn items(&self) -> impl Iterator<Item = (usize, Item)> {
        let begin = self.front_matter().map_or(0, |end| end + 1);
        let lines = self.lines.iter().enumerate().skip(begin);
        lines.filter_map(|(index, line)| Some((index, Item::parse(line, self.kind)?)))
    }

    pub(super) fn count(&self) -> usize {
        self.items().count()
    }

    /// Puts an item before all others.
    pub(super) fn add(&mut self, item: &Item, now: &str) {
        self.begin(now);
        let line = format!("{}{}", item.line(self.kind), self.end);
        let first = self.items().next().map(|(index, _)| index);
        let at = first.unwrap_or_else(|| self.after_heading());
        self.end_line_before(at);
        self.lines.insert(at, line);
        self.update_front_matter(now);
    }

    /// Takes the item out that stands in this line.
    pub(super) fn remove(&mut self, index: usize, now: &str) {
        self.begin(now);
        self.lines.remove(index);
        self.update_front_matter(now);
    }

    /// The line after which the front matter ends; none if there is none.
    fn front_matter(&self) -> Option<usize> {
        let is_fence = |line: &String| line.trim_end() == "---";
        self.lines.first().filter(|line| is_fence(line))?;
        self.lines.iter().skip(1).position(is_fence).map(|at| at + 1)
    }

    /// Writes what every list begins with, where nothing does yet.
    fn begin(&mut self, now: &str) {
        if self.lines.is_empty() {
            self.lines.extend(
                [String::new(), self.kind.heading().to_owned(), String::new()].map(|line| line + "\n"),
            );
        }
        if self.front_matter().is_none() {
            let count = self.kind.count_key();
            let front = [
                "---",
                &format!("created_at: {now}"),
                &format!("updated_at: {now}"),
                &format!("{count}: 0"),
                "---",
            ];
            let front = front.map(|line| format!("{line}{}", self.end));
            self.lines.splice(0..0, front);
        }
    }

    fn after_heading(&self) -> usize {
        let begin = self.front_matter().map_or(0, |end| end + 1);
        let heading = self.lines.iter().skip(begin).position(|line| line.starts_with("# "));
        let mut at = heading.map_or(self.lines.len(), |at| begin + at + 1);
        if self.lines.get(at).is_some_and(|line| line.trim().is_empty()) {
            at += 1;
        }
        at
    }

    /// The last line of a file may have no end.
    fn end_line_before(&mut self, at: usize) {
        let end = self.end;
        if let Some(line) = at.checked_sub(1).and_then(|before| self.lines.get_mut(before))
            && !line.ends_with('\n')
        {
            line.push_str(end);
        }
    }

    /// Brings the count and the time of the front matter up to date.
    fn update_front_matter(&mut self, now: &str) {
        let count = self.count().to_string();
        self.set("updated_at", now);
        self.set(self.kind.count_key(), &count);
    }

    fn set(&mut self, key: &str, value: &str) {
        let Some(close) = self.front_matter() else { return };
        let line = format!("{key}: {value}{}", self.end);
        let is_it = |line: &String| line.split_once(':').is_some_and(|(name, _)| name == key);
        match self.lines[1..close].iter().position(is_it) {
            Some(at) => self.lines[at + 1] = line,
            None => self.lines.insert(close, line),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-11-22T10:00:00Z";

    fn item(text: &str, chat: Option<&str>) -> Item {
        let created_at = "2026-11-22 09:00".to_owned();
        Item { created_at, done_at: None, chat_id: chat.map(str::to_owned), text: text.to_owned() }
    }

    #[test]
    fn an_item_reads_as_it_is_written() {
        let open = "- [ ] [Created](2026-11-22 09:00), [ChatID](tg:-1001) | call Anna (tg:7) | today";
        assert_eq!(Item::parse(open, Kind::Open), Some(item("call Anna (tg:7) | today", Some("tg:-1001"))));
        assert_eq!(item("call Anna (tg:7) | today", Some("tg:-1001")).line(Kind::Open), open);
        let done = Item { done_at: Some("2026-11-22 10:00".to_owned()), ..item("x", None) };
        let line = "- [x] [Created](2026-11-22 09:00), [Done](2026-11-22 10:00) | x";
        assert_eq!((done.line(Kind::Done).as_str(), Item::parse(line, Kind::Done)), (line, Some(done)));
        for not_understood in [
            "- [ ] buy milk",
            "- [ ] [Created](2026-11-22 09:00) buy milk",
            "- [ ] [Due](2026-11-22 09:00) | x",
            "- [ ] [Created](a), [Created](b) | x",
            "- [ ] [ChatID](tg:1) | x",
            "- [ ] [Created](2026-11-22 09:00) |  ",
            "  - [ ] [Created](2026-11-22 09:00) | x",
            "* [ ] [Created](2026-11-22 09:00) | x",
        ] {
            assert_eq!(Item::parse(not_understood, Kind::Open), None, "{not_understood}");
        }
    }

    #[test]
    fn a_new_list_has_front_matter_a_heading_and_its_newest_item_first() {
        let mut list = List::parse(Kind::Open, "");
        list.add(&item("one", None), NOW);
        list.add(&item("two", None), "2026-11-22T11:00:00Z");
        let expected = "---\ncreated_at: 2026-11-22T10:00:00Z\nupdated_at: 2026-11-22T11:00:00Z\n\
                        open_count: 2\n---\n\n# TODO\n\n- [ ] [Created](2026-11-22 09:00) | two\n\
                        - [ ] [Created](2026-11-22 09:00) | one\n";
        assert_eq!(list.text(), expected);
    }

    #[test]
    fn what_is_not_understood_stays_where_it_is() {
        for text in [
            "my notes\n- [ ] buy milk\n\n<!-- w -->\n## Later\n- [ ] [Created](2026-01-01 00:00) | old\nend",
            "---\ntitle: mine\nopen_count: wrong\n---\r\n# Things\r\n\r\nfree text",
            "---\nno end of the front matter\n- [ ] x\n",
            "\u{feff}# TODO\n- [ ] [Created](2026-01-01 00:00) | old\n",
        ] {
            let mut list = List::parse(Kind::Open, text);
            list.add(&item("new", None), NOW);
            let (index, _) = list.items().find(|(_, item)| item.text == "new").unwrap();
            let after = list.text();
            for line in text.lines().filter(|line| !line.starts_with("open_count")) {
                assert!(after.contains(line), "{line:?} was lost: {after}");
            }
            list.remove(index, NOW);
            let mut without: Vec<&str> = after.lines().filter(|line| !line.ends_with("| new")).collect();
            let left = list.text();
            let left: Vec<&str> = left.lines().collect();
            without.iter_mut().for_each(|line| {
                if line.starts_with("open_count") {
                    *line = ""
                }
            });
            let same = without.iter().zip(&left).all(|(one, other)| one == other || one.is_empty());
            assert!(same && without.len() == left.len(), "{without:?} {left:?}");
        }
    }

    #[test]
    fn the_same_is_said_whatever_the_case_and_the_references() {
        let told = item("Call  Anna (tg:@anna) today", None);
        assert!(told.says("call anna today") && told.says("CALL ANNA (tg:7) today"));
        assert!(!told.says("call Anna") && !told.says("call Anna (at home) today"));
        assert!(told.has("ANNA  today") && told.has("call") && !told.has("call Bob") && !told.has("(tg:7)"));
    }
}
