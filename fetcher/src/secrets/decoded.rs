//! A text as a reader of its format sees it: percent codes, entities of HTML and XML, and escapes of JSON and
//! of programs undone, in whatever mixture.
//!
//! A server that repeats a secret, or takes a path, may do so in any of these forms, and in several at once.
//! To undo them finds all mixtures; a list of forms does not.

use memchr::memchr3;

/// So many layers are undone: a text within a text within a text.
const LAYERS: usize = 3;

/// What the longest entity has between `&` and `;`.
const LONGEST_ENTITY: usize = 10;

/// The named entities that stand for a character of ASCII other than a letter or a digit.
const ENTITIES: [(&str, u8); 38] = [
    ("amp", b'&'),
    ("AMP", b'&'),
    ("lt", b'<'),
    ("LT", b'<'),
    ("gt", b'>'),
    ("GT", b'>'),
    ("quot", b'"'),
    ("QUOT", b'"'),
    ("apos", b'\''),
    ("sol", b'/'),
    ("bsol", b'\\'),
    ("colon", b':'),
    ("semi", b';'),
    ("period", b'.'),
    ("comma", b','),
    ("lowbar", b'_'),
    ("UnderBar", b'_'),
    ("plus", b'+'),
    ("equals", b'='),
    ("commat", b'@'),
    ("num", b'#'),
    ("percnt", b'%'),
    ("excl", b'!'),
    ("dollar", b'$'),
    ("ast", b'*'),
    ("midast", b'*'),
    ("lpar", b'('),
    ("rpar", b')'),
    ("quest", b'?'),
    ("lsqb", b'['),
    ("lbrack", b'['),
    ("rsqb", b']'),
    ("rbrack", b']'),
    ("Hat", b'^'),
    ("grave", b'`'),
    ("lcub", b'{'),
    ("rcub", b'}'),
    ("verbar", b'|'),
];

/// Bytes, and where each of them begins in the text that they were decoded from.
pub(super) struct Decoded {
    pub(super) bytes: Vec<u8>,
    /// One more than there are bytes: the last is the text's end.
    starts: Vec<u32>,
}

impl Decoded {
    /// Where a part of the bytes is in the text.
    pub(super) fn source(&self, part: &std::ops::Range<usize>) -> std::ops::Range<usize> {
        let at = |index: usize| self.starts.get(index).map_or(0, |start| *start as usize);
        at(part.start)..at(part.end)
    }
}

/// The text with each layer of codes undone, outermost first; the text itself is not among them.
pub(super) fn layers(text: &[u8]) -> Vec<Decoded> {
    let mut layers: Vec<Decoded> = Vec::new();
    for _ in 0..LAYERS {
        let (bytes, outer) = match layers.last() {
            None => (text, None),
            Some(last) => (last.bytes.as_slice(), Some(last)),
        };
        let Some(next) = undone(bytes, outer) else { break };
        layers.push(next);
    }
    layers
}

/// The texts that a text may stand for: itself, and with each layer of codes undone.
pub fn readings(text: &str) -> Vec<String> {
    let decoded = layers(text.as_bytes());
    let decoded = decoded.iter().map(|layer| String::from_utf8_lossy(&layer.bytes).into_owned());
    std::iter::once(text.to_owned()).chain(decoded).collect()
}

/// One layer less; none if there is none.
fn undone(bytes: &[u8], outer: Option<&Decoded>) -> Option<Decoded> {
    // Beyond it, positions do not fit.
    if u32::try_from(bytes.len()).is_err() {
        return None;
    }
    let first = memchr3(b'%', b'&', b'\\', bytes)?;
    let start_of = |at: usize| match outer {
        Some(outer) => outer.starts[at],
        None => u32::try_from(at).unwrap_or(u32::MAX),
    };
    let mut decoded = Decoded { bytes: bytes[..first].to_vec(), starts: (0..first).map(start_of).collect() };
    let (mut at, mut found) = (first, false);
    while at < bytes.len() {
        let (length, stands_for) = code(&bytes[at..]).unwrap_or((1, Character::of(bytes[at])));
        found |= length > 1;
        decoded.bytes.extend_from_slice(stands_for.bytes());
        decoded.starts.resize(decoded.bytes.len(), start_of(at));
        at += length;
    }
    decoded.starts.push(start_of(bytes.len()));
    found.then_some(decoded)
}

/// The bytes of what a code stands for.
struct Character([u8; 4], usize);

impl Character {
    fn of(byte: u8) -> Self {
        Self([byte, 0, 0, 0], 1)
    }

    fn of_number(number: u32) -> Option<Self> {
        let mut bytes = [0; 4];
        let length = char::from_u32(number)?.encode_utf8(&mut bytes).len();
        Some(Self(bytes, length))
    }

    fn bytes(&self) -> &[u8] {
        &self.0[..self.1]
    }
}

/// The code at the beginning: how long it is, and what it stands for.
fn code(rest: &[u8]) -> Option<(usize, Character)> {
    match rest {
        [b'%', high, low, ..] => Some((3, Character::of(u8::try_from(number(&[*high, *low], 16)?).ok()?))),
        [b'\\', b'u', b'{', more @ ..] => {
            let end = more.iter().take(8).position(|byte| *byte == b'}')?;
            Some((end + 4, Character::of_number(number(&more[..end], 16)?)?))
        }
        [b'\\', b'u', more @ ..] => Some((6, Character::of_number(number(more.get(..4)?, 16)?)?)),
        [b'\\', b'x', more @ ..] => Some((4, Character::of_number(number(more.get(..2)?, 16)?)?)),
        [b'\\', plain @ (b'/' | b'\\' | b'"' | b'\''), ..] => Some((2, Character::of(*plain))),
        [b'&', more @ ..] => entity(more).map(|(length, character)| (length + 1, character)),
        _ => None,
    }
}

/// What follows the `&` of an entity.
fn entity(rest: &[u8]) -> Option<(usize, Character)> {
    let is_of_name = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'#';
    let length = rest.iter().take(LONGEST_ENTITY).take_while(is_of_name).count();
    let name = &rest[..length];
    let whole = length + usize::from(rest.get(length) == Some(&b';'));
    let character = match name {
        [b'#', b'x' | b'X', digits @ ..] => Character::of_number(number(digits, 16)?)?,
        [b'#', digits @ ..] => Character::of_number(number(digits, 10)?)?,
        _ if whole == length => return None,
        _ => {
            let known = ENTITIES.iter().find(|(known, _)| known.as_bytes() == name)?;
            Character::of(known.1)
        }
    };
    Some((whole, character))
}

fn number(digits: &[u8], radix: u32) -> Option<u32> {
    let is_number = !digits.is_empty() && digits.iter().all(|digit| char::from(*digit).is_digit(radix));
    let digits = std::str::from_utf8(digits).ok().filter(|_| is_number)?;
    u32::from_str_radix(digits, radix).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_undone_in_any_mixture_and_depth() {
        let mixtures = "\
            a/b:ä a%2fb:ä a%2Fb%3a%c3%A4 a%252Fb%25253A&auml; &#97;&#x2F;b&colon;&#228; \
            a\\/b\\u003a\\u00e4 \\x61\\u{2f}b:\\u00E4 a&amp;#47;b&#58ä %26sol;";
        for coded in mixtures.split_whitespace() {
            let readings = readings(coded);
            let expected = if coded == "%26sol;" { "/" } else { "a/b" };
            assert!(readings.iter().any(|reading| reading.contains(expected)), "{coded}: {readings:?}");
        }
        for plain in ["100 % & more \\n", "%zz &nothing; \\u12 &#x; \\u{}", "", "%", "&", "\\"] {
            assert_eq!(readings(plain), [plain], "nothing in it is a code");
        }
    }

    #[test]
    fn a_decoded_part_is_found_in_the_text() {
        let text = "say %25&#x68;i! %31";
        let layers = layers(text.as_bytes());
        let last = layers.last().unwrap();
        let at = memchr::memmem::find(&last.bytes, b"hi").unwrap();
        assert_eq!(&text[last.source(&(at..at + 2))], "&#x68;i");
        assert_eq!(last.source(&(0..last.bytes.len())), 0..text.len());
    }
}
