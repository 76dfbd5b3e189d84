//! Compiles the rules to the kernel's filter language (classic BPF).
//!
//! The program checks architecture and number range, then finds the block of the call's number by halves. The
//! kernel runs a new filter once for each number that it knows, so what a lookup takes decides what it costs
//! to install the filter, and commands install one each. A block ends with a verdict on every path, so blocks
//! are independent of each other.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;

use libc::{
    BPF_ABS, BPF_ALU, BPF_AND, BPF_JA, BPF_JEQ, BPF_JGE, BPF_JGT, BPF_JMP, BPF_JSET, BPF_K, BPF_LD, BPF_RET,
    BPF_W, SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_USER_NOTIF,
    sock_filter,
};

use super::machine::{ARCHITECTURE, FOREIGN_NUMBERS};
use super::rules::{NEWEST_KNOWN, Rule, Test, Verdict};

const NUMBER_OFFSET: u32 = 0;
const ARCHITECTURE_OFFSET: u32 = 4;
const ARGUMENTS_OFFSET: u32 = 16;

/// The program for these rules; what no rule names is allowed.
pub fn assemble(rules: &[Rule]) -> io::Result<Vec<sock_filter>> {
    let absent = verdict(Verdict::Errno(libc::ENOSYS));
    let mut program = vec![
        load(ARCHITECTURE_OFFSET),
        jump(BPF_JEQ, ARCHITECTURE, 1, 0),
        ret(SECCOMP_RET_KILL_PROCESS),
        load(NUMBER_OFFSET),
    ];
    if let Some(first) = FOREIGN_NUMBERS {
        program.extend([jump(BPF_JGE, first, 0, 1), absent]);
    }
    program.extend([jump(BPF_JGT, NEWEST_KNOWN, 0, 1), absent]);
    program.extend(lookup(&blocks(rules)?)?);
    Ok(program)
}

/// What happens to the calls from one number up to that of the next block.
struct Block {
    first: u32,
    body: Vec<sock_filter>,
}

/// The blocks of all numbers, in their order. The first of two rules for a call counts.
fn blocks(rules: &[Rule]) -> io::Result<Vec<Block>> {
    let mut by_number = BTreeMap::new();
    for rule in rules {
        let number = u32::try_from(rule.number).map_err(io::Error::other)?;
        if let Entry::Vacant(place) = by_number.entry(number) {
            place.insert(body(rule)?);
        }
    }
    let mut blocks: Vec<Block> = Vec::new();
    let mut next = 0;
    let allowed = || vec![verdict(Verdict::Allow)];
    let mut add = |first: u32, body: Vec<sock_filter>| match blocks.last() {
        Some(last) if is_same(&last.body, &body) => {}
        _ => blocks.push(Block { first, body }),
    };
    for (number, body) in by_number {
        if number > next {
            add(next, allowed());
        }
        add(number, body);
        next = number + 1;
    }
    add(next, allowed());
    Ok(blocks)
}

fn is_same(one: &[sock_filter], other: &[sock_filter]) -> bool {
    let parts = |step: &sock_filter| (step.code, step.jt, step.jf, step.k);
    one.iter().map(parts).eq(other.iter().map(parts))
}

/// Goes to the block of the number that was loaded.
fn lookup(blocks: &[Block]) -> io::Result<Vec<sock_filter>> {
    if let [only] = blocks {
        return Ok(only.body.clone());
    }
    let (lower, upper) = blocks.split_at(blocks.len() / 2);
    let first = upper[0].first;
    let (lower, upper) = (lookup(lower)?, lookup(upper)?);
    let mut program = match length(&lower) {
        Ok(short) => vec![jump(BPF_JGE, first, short, 0)],
        // Only a jump without a test reaches so far.
        Err(_) => {
            let far = u32::try_from(lower.len()).map_err(io::Error::other)?;
            vec![jump(BPF_JGE, first, 0, 1), instruction(BPF_JMP | BPF_JA, far, 0, 0)]
        }
    };
    program.extend(lower);
    program.extend(upper);
    Ok(program)
}

fn body(rule: &Rule) -> io::Result<Vec<sock_filter>> {
    let mut body = Vec::new();
    for (tests, then) in &rule.cases {
        let mut rest = vec![verdict(*then)];
        for (argument, test) in tests.iter().rev() {
            let mut block = one_test(*argument, *test, length(&rest)?);
            block.append(&mut rest);
            rest = block;
        }
        body.append(&mut rest);
    }
    body.push(verdict(rule.otherwise));
    Ok(body)
}

/// Continues if the test passes, else skips the `rest` of the case.
fn one_test(argument: u32, test: Test, rest: u8) -> Vec<sock_filter> {
    let low_half = if cfg!(target_endian = "big") { 4 } else { 0 };
    let load = load(ARGUMENTS_OFFSET + 8 * argument + low_half);
    match test {
        Test::Is(value) => vec![load, jump(BPF_JEQ, value, 0, rest)],
        Test::Masked(mask, value) => {
            let cut = instruction(BPF_ALU | BPF_AND | BPF_K, mask, 0, 0);
            vec![load, cut, jump(BPF_JEQ, value, 0, rest)]
        }
        Test::Without(bits) => vec![load, jump(BPF_JSET, bits, rest, 0)],
        Test::WithAny(bits) => vec![load, jump(BPF_JSET, bits, 0, rest)],
    }
}

fn length(block: &[sock_filter]) -> io::Result<u8> {
    u8::try_from(block.len()).map_err(io::Error::other)
}

fn load(offset: u32) -> sock_filter {
    instruction(BPF_LD | BPF_W | BPF_ABS, offset, 0, 0)
}

fn jump(test: u32, value: u32, when_true: u8, when_false: u8) -> sock_filter {
    instruction(BPF_JMP | test | BPF_K, value, when_true, when_false)
}

fn verdict(verdict: Verdict) -> sock_filter {
    ret(match verdict {
        Verdict::Allow => SECCOMP_RET_ALLOW,
        Verdict::Ask => SECCOMP_RET_USER_NOTIF,
        Verdict::Errno(errno) => SECCOMP_RET_ERRNO | errno.cast_unsigned(),
    })
}

fn ret(value: u32) -> sock_filter {
    instruction(BPF_RET | BPF_K, value, 0, 0)
}

fn instruction(code: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
    let code = u16::try_from(code).expect("BPF opcodes have 16 bits");
    sock_filter { code, jt, jf, k }
}

/// The kernel's verdict on a call of this machine, for tests of rules: interprets the instructions above.
pub fn verdict_on(filter: &[sock_filter], call: i64, arguments: [u32; 6]) -> u32 {
    interpret(filter, ARCHITECTURE, u32::try_from(call).unwrap_or(u32::MAX), arguments)
}

fn interpret(filter: &[sock_filter], architecture: u32, number: u32, arguments: [u32; 6]) -> u32 {
    let (mut at, mut accumulator) = (0, 0);
    loop {
        let step = filter[at];
        at += 1;
        let code = u32::from(step.code);
        let take = |holds: bool| usize::from(if holds { step.jt } else { step.jf });
        match code {
            _ if code == BPF_LD | BPF_W | BPF_ABS => {
                accumulator = match step.k {
                    NUMBER_OFFSET => number,
                    ARCHITECTURE_OFFSET => architecture,
                    offset => arguments[((offset - ARGUMENTS_OFFSET) / 8) as usize],
                }
            }
            _ if code == BPF_ALU | BPF_AND | BPF_K => accumulator &= step.k,
            _ if code == BPF_JMP | BPF_JA => at += step.k as usize,
            _ if code == BPF_JMP | BPF_JEQ | BPF_K => at += take(accumulator == step.k),
            _ if code == BPF_JMP | BPF_JGE | BPF_K => at += take(accumulator >= step.k),
            _ if code == BPF_JMP | BPF_JGT | BPF_K => at += take(accumulator > step.k),
            _ if code == BPF_JMP | BPF_JSET | BPF_K => at += take(accumulator & step.k != 0),
            _ => return step.k,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_another_architecture_kill_the_process() {
        let filter = assemble(&[]).unwrap();
        assert_eq!(interpret(&filter, 0x4000_0003, 20, [0; 6]), SECCOMP_RET_KILL_PROCESS);
        if let Some(first) = FOREIGN_NUMBERS {
            let absent = SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned();
            assert_eq!(interpret(&filter, ARCHITECTURE, first + 1, [0; 6]), absent);
        }
    }

    #[test]
    fn every_number_gets_the_verdict_of_its_first_rule() {
        let errno = |number: i64| Verdict::Errno(i32::try_from(number % 100 + 1).unwrap());
        let newest = i64::from(NEWEST_KNOWN);
        // Blocks that are longer than a jump with a test reaches, runs of neighbours, and both ends.
        let long = |number: i64| Rule {
            number,
            cases: (0..60).map(|value| (vec![(0, Test::Is(value))], errno(number + 1))).collect(),
            otherwise: errno(number),
        };
        let plain = |number: i64| Rule { number, cases: Vec::new(), otherwise: errno(number) };
        for numbers in [&[][..], &[0], &[newest], &[7, 9, 8, 0], &[newest - 1, 0, 200, 201, 202, 300]] {
            let rules: Vec<Rule> = numbers
                .iter()
                .flat_map(|n| [if n % 2 == 0 { long(*n) } else { plain(*n) }, plain(1)])
                .collect();
            let again = numbers.iter().map(|n| Rule { otherwise: Verdict::Allow, ..plain(*n) });
            let filter = assemble(&rules.iter().cloned().chain(again).collect::<Vec<_>>()).unwrap();
            for number in 0..=newest {
                let rule = rules.iter().find(|rule| rule.number == number);
                let expected = rule.map_or(Verdict::Allow, |rule| rule.otherwise);
                assert_eq!(
                    verdict_on(&filter, number, [99; 6]),
                    verdict(expected).k,
                    "{number} of {numbers:?}"
                );
            }
            assert_eq!(verdict_on(&filter, newest + 1, [0; 6]), verdict(Verdict::Errno(libc::ENOSYS)).k);
        }
    }
}
