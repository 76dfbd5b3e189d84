//! A small seeded generator of numbers: the same seed gives the same test on every machine.

/// SplitMix64.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound).expect("an address fits into 64 bits");
        usize::try_from(self.number() % bound).expect("it is below an address")
    }

    /// Lines of about `bytes` bytes in total; the first line is a unique word.
    pub fn text(&mut self, bytes: usize) -> String {
        let mut text = format!("{}\n", self.word());
        while text.len() < bytes {
            text.push_str(&format!("line {:016x}\n", self.number()));
        }
        text
    }

    /// A unique word.
    pub fn word(&mut self) -> String {
        format!("word-{:016x}", self.number())
    }
}
