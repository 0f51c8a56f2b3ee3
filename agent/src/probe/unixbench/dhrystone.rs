//! Dhrystone 2.1, written from scratch after Weicker's description ("Dhrystone benchmark: rationale for version 2",
//! SIGPLAN Notices 23(8), 1988): the same statements on the same records, arrays and strings in the same order.
//!
//! The procedures in the original's second source file may not be merged into the first; here they are never inlined.
//! The C library compares strings; the compiler assigns registers. A loop is one Dhrystone.

use std::hint::black_box;

use super::process::{again, alarm, since};
use super::score::Report;
use crate::clock::now_ns;
use crate::fault::Fault;

type Text = [u8; 31];

const SOME: &Text = b"DHRYSTONE PROGRAM, SOME STRING\0";
const FIRST: &Text = b"DHRYSTONE PROGRAM, 1'ST STRING\0";
const SECOND: &Text = b"DHRYSTONE PROGRAM, 2'ND STRING\0";
const THIRD: &Text = b"DHRYSTONE PROGRAM, 3'RD STRING\0";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ident {
    One,
    Two,
    Three,
    Four,
    #[allow(dead_code)] // the published program has five
    Five,
}

#[derive(Clone, Copy)]
struct Record {
    next: *mut Record,
    kind: Ident,
    ident: Ident,
    number: i32,
    text: Text,
}

/// The global variables.
struct World {
    record: *mut Record,
    number: i32,
    truth: bool,
    first: u8,
    second: u8,
    row: [i32; 50],
    table: [[i32; 50]; 50],
}

/// The variables of the main loop after one iteration.
struct Turn {
    one: i32,
    two: i32,
    three: i32,
    ident: Ident,
    text: Text,
}

pub fn run(length_s: f64) -> Result<Report, Fault> {
    let empty = Record { next: std::ptr::null_mut(), kind: Ident::One, ident: Ident::One, number: 0, text: [0; 31] };
    let mut next = Box::new(empty);
    let mut record = Box::new(Record { next: &mut *next, ident: Ident::Three, number: 40, text: *SOME, ..empty });
    let mut table = [[0; 50]; 50];
    table[8][7] = 10;
    let first = black_box(*FIRST);
    let mut world = World { record: &mut *record, number: 0, truth: false, first: 0, second: 0, row: [0; 50], table };
    let mut last = Turn { one: 0, two: 0, three: 0, ident: Ident::One, text: [0; 31] };
    let mut loops = 0_u64;
    alarm(length_s)?;
    let start_ns = now_ns();
    while again(loops) {
        loops += 1;
        unsafe { turn(black_box(&mut world), &first, &mut last, loops as i32) };
    }
    let report = since(start_ns, loops);
    let right = unsafe { as_published(&world, &last, loops) } && first == *FIRST;
    let next = "do not trust this CPU, or report this";
    if right { Ok(report) } else { Err(Fault::invalid("Dhrystone's final values are wrong", next)) }
}

/// Checks the known answer: the expected final values that the published program prints.
unsafe fn as_published(world: &World, last: &Turn, loops: u64) -> bool {
    let (record, next) = (*world.record, *(*world.record).next);
    let globals = (world.number, world.truth, world.first, world.second, world.row[8]) == (5, true, b'A', b'B', 7);
    let table = world.table[8][7] == 10_i32.wrapping_add(loops as i32);
    let own = (record.kind, record.ident, record.number, &record.text) == (Ident::One, Ident::Three, 17, SOME);
    let other = (next.kind, next.ident, next.number, &next.text) == (Ident::One, Ident::Two, 18, SOME);
    let locals = (last.one, last.two, last.three, last.ident, &last.text) == (5, 13, 7, Ident::Two, SECOND);
    globals && table && own && other && locals && next.next == record.next
}

#[inline(always)]
unsafe fn turn(world: &mut World, first: &Text, last: &mut Turn, number: i32) {
    proc_5(world);
    proc_4(world);
    last.one = 2;
    last.two = 3;
    last.text = *SECOND;
    last.ident = Ident::Two;
    world.truth = !func_2(world, first, &last.text);
    while last.one < last.two {
        last.three = 5 * last.one - last.two;
        proc_7(last.one, last.two, &mut last.three);
        last.one += 1;
    }
    proc_8(world, last.one, last.three);
    proc_1(world, world.record);
    let mut letter = b'A';
    while letter <= world.second {
        if last.ident == func_1(world, letter, b'C') {
            proc_6(world, Ident::One, &mut last.ident);
            last.text = *THIRD;
            last.two = number;
            world.number = number;
        }
        letter += 1;
    }
    last.two *= last.one;
    last.one = last.two / last.three;
    last.two = 7 * (last.two - last.three) - last.one;
    proc_2(world, &mut last.one);
}

unsafe fn proc_1(world: &mut World, record: *mut Record) {
    let next = (*record).next;
    *next = *world.record;
    (*record).number = 5;
    (*next).number = (*record).number;
    (*next).next = (*record).next;
    proc_3(world, &mut (*next).next);
    if (*next).kind == Ident::One {
        (*next).number = 6;
        proc_6(world, (*record).ident, &mut (*next).ident);
        (*next).next = (*world.record).next;
        proc_7((*next).number, 10, &mut (*next).number);
    } else {
        *record = *(*record).next;
    }
}

fn proc_2(world: &World, number: &mut i32) {
    let mut own = *number + 10;
    loop {
        let mut ident = Ident::Two;
        if world.first == b'A' {
            own -= 1;
            *number = own - world.number;
            ident = Ident::One;
        }
        if ident == Ident::One {
            break;
        }
    }
}

unsafe fn proc_3(world: &mut World, next: &mut *mut Record) {
    if !world.record.is_null() {
        *next = (*world.record).next;
    }
    proc_7(10, world.number, &mut (*world.record).number);
}

fn proc_4(world: &mut World) {
    world.truth |= world.first == b'A';
    world.second = b'B';
}

fn proc_5(world: &mut World) {
    world.first = b'A';
    world.truth = false;
}

#[inline(never)]
fn proc_6(world: &World, ident: Ident, into: &mut Ident) {
    *into = ident;
    if !func_3(ident) {
        *into = Ident::Four;
    }
    match ident {
        Ident::One => *into = Ident::One,
        Ident::Two => *into = if world.number > 100 { Ident::One } else { Ident::Four },
        Ident::Three => *into = Ident::Two,
        Ident::Four => {}
        Ident::Five => *into = Ident::Three,
    }
}

#[inline(never)]
fn proc_7(one: i32, two: i32, into: &mut i32) {
    let own = one + 2;
    *into = two + own;
}

#[inline(never)]
fn proc_8(world: &mut World, one: i32, two: i32) {
    let at = (one + 5) as usize;
    world.row[at] = two;
    world.row[at + 1] = world.row[at];
    world.row[at + 30] = at as i32;
    for column in at..=at + 1 {
        world.table[at][column] = at as i32;
    }
    world.table[at][at - 1] = world.table[at][at - 1].wrapping_add(1);
    world.table[at + 20][at] = world.row[at];
    world.number = 5;
}

#[inline(never)]
fn func_1(world: &mut World, one: u8, two: u8) -> Ident {
    if one != two {
        Ident::One
    } else {
        world.first = one;
        Ident::Two
    }
}

#[inline(never)]
unsafe fn func_2(world: &mut World, first: &Text, second: &Text) -> bool {
    let (mut at, mut letter) = (2_usize, b'A');
    while at <= 2 {
        if func_1(world, first[at], second[at + 1]) == Ident::One {
            letter = b'A';
            at += 1;
        }
    }
    if (b'W'..b'Z').contains(&letter) {
        at = 7;
    }
    if letter == b'R' {
        return true;
    }
    if libc::strcmp(first.as_ptr().cast(), second.as_ptr().cast()) > 0 {
        world.number = at as i32 + 7;
        return true;
    }
    false
}

#[inline(never)]
fn func_3(ident: Ident) -> bool {
    ident == Ident::Three
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_final_value_is_detected() {
        let mut next =
            Record { next: std::ptr::null_mut(), kind: Ident::One, ident: Ident::Two, number: 18, text: *SOME };
        let mut record = Record { next: &mut next, ident: Ident::Three, number: 17, ..next };
        unsafe { (*record.next).next = record.next };
        let (mut row, mut table) = ([0; 50], [[0; 50]; 50]);
        (row[8], table[8][7]) = (7, 13);
        let mut world = World { record: &mut record, number: 5, truth: true, first: b'A', second: b'B', row, table };
        let mut last = Turn { one: 5, two: 13, three: 7, ident: Ident::Two, text: *SECOND };
        assert!(unsafe { as_published(&world, &last, 3) });
        assert!(!unsafe { as_published(&world, &last, 4) });
        last.two = 12;
        assert!(!unsafe { as_published(&world, &last, 3) });
        last.two = 13;
        world.first = b'C';
        assert!(!unsafe { as_published(&world, &last, 3) });
    }
}
