// SPDX-License-Identifier: Apache-2.0
//
// containers SEED: makes one local variable of each kind of container, with contents at
// random, prints each variable's name and what it holds as JSON, and crashes. Of a
// container the first eight elements and the size are printed.
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex};
use std::time::Duration;

struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % limit
    }
    fn some(&mut self) -> u64 {
        [0, 1, 3, 8, 9, 30][self.below(6) as usize]
    }
    fn text(&mut self) -> String {
        let length = [0, 1, 7, 15, 40][self.below(5) as usize];
        (0..length).map(|_| (b'a' + self.below(26) as u8) as char).collect()
    }
}

struct Item {
    name: String,
    count: i32,
}

enum Shape {
    Circle(f64),
    Named { label: String, sides: i32 },
    Empty,
}

trait Show {
    fn show(&self) -> String;
}
impl Show for i32 {
    fn show(&self) -> String {
        self.to_string()
    }
}
impl Show for u128 {
    fn show(&self) -> String {
        self.to_string()
    }
}
impl Show for String {
    fn show(&self) -> String {
        format!("\"{}\"", self)
    }
}
impl Show for Item {
    fn show(&self) -> String {
        format!("{{\"name\": {}, \"count\": {}}}", self.name.show(), self.count)
    }
}
impl<T: Show> Show for Vec<T> {
    fn show(&self) -> String {
        all(self.iter())
    }
}
impl<T: Show> Show for Option<T> {
    fn show(&self) -> String {
        match self {
            Some(value) => format!("{{\"choice\": \"Some\", \"value\": {}}}", value.show()),
            None => "{\"choice\": \"None\"}".to_string(),
        }
    }
}

fn all<'a, T: Show + 'a>(items: impl Iterator<Item = &'a T>) -> String {
    let shown: Vec<String> = items.map(|each| each.show()).collect();
    let first: Vec<String> = shown.iter().take(8).cloned().collect();
    format!("{{\"size\": {}, \"items\": [{}]}}", shown.len(), first.join(", "))
}

fn pairs<'a, K: Show + 'a, V: Show + 'a>(items: impl Iterator<Item = (&'a K, &'a V)>) -> String {
    let shown: Vec<String> =
        items.map(|(key, value)| format!("[{}, {}]", key.show(), value.show())).collect();
    let first: Vec<String> = shown.iter().take(8).cloned().collect();
    format!("{{\"size\": {}, \"entries\": [{}]}}", shown.len(), first.join(", "))
}

#[inline(never)]
fn fill(nowhere: *mut i32, seed: u64) {
    let mut chance = Chance(seed);
    let c = &mut chance;
    let line = c.text();
    let part: &str = &line[line.len() / 2..];
    let numbers: Vec<i32> = (0..c.some()).map(|_| c.below(1000) as i32).collect();
    let words: Vec<String> = (0..c.some()).map(|_| c.text()).collect();
    let items: Vec<Item> =
        (0..c.some()).map(|i| Item { name: c.text(), count: i as i32 }).collect();
    let slice = &numbers[numbers.len() / 2..];
    let boxed_slice: Box<[i32]> = numbers.clone().into_boxed_slice();
    let maybe = if c.below(2) == 0 { Some(c.below(100) as i32) } else { None };
    let maybe_wide: Option<u128> = if c.below(2) == 0 { Some(c.below(100) as u128) } else { None };
    let maybe_text = if c.below(2) == 0 { Some(c.text()) } else { None };
    let many: Vec<Option<i32>> =
        (0..c.some()).map(|i| if i % 2 == 0 { Some(i as i32) } else { None }).collect();
    let result: Result<i32, String> = if c.below(2) == 0 { Ok(7) } else { Err(c.text()) };
    let boxed = Box::new(Item { name: c.text(), count: 1 });
    let shared = Rc::new(Item { name: c.text(), count: 2 });
    let again = shared.clone();
    let atomic_shared = Arc::new(c.below(50) as i32);
    let by_word: HashMap<String, i32> = (0..c.some()).map(|i| (c.text(), i as i32)).collect();
    let seen: HashSet<i32> = (0..c.some()).map(|_| c.below(500) as i32).collect();
    let sorted: BTreeMap<i32, i32> = (0..3 * c.some()).map(|i| (i as i32, -(i as i32))).collect();
    let names: BTreeSet<i32> = (0..c.some()).map(|_| c.below(500) as i32).collect();
    let mut ring: VecDeque<i32> = (0..c.some()).map(|i| i as i32).collect();
    for i in 0..c.below(5) {
        ring.pop_front();
        ring.push_back(i as i32);
    }
    let cell = Cell::new(c.below(9) as i32);
    let borrowed = RefCell::new(numbers.clone());
    let guarded = Mutex::new(c.below(9) as i32);
    let place = PathBuf::from(format!("/{}", c.text()));
    let pause = Duration::from_millis(c.below(5000));
    let shape = match c.below(3) {
        0 => Shape::Circle(1.5),
        1 => Shape::Named { label: c.text(), sides: 4 },
        _ => Shape::Empty,
    };
    let tuple = (c.below(10) as i32, c.text());
    let counter = AtomicU32::new(c.below(100) as u32);

    println!("line\t{}", line.show());
    println!("part\t\"{}\"", part);
    println!("numbers\t{}", numbers.show());
    println!("words\t{}", words.show());
    println!("items\t{}", items.show());
    println!("slice\t{}", all(slice.iter()));
    println!("boxed_slice\t{}", all(boxed_slice.iter()));
    println!("maybe\t{}", maybe.show());
    println!("maybe_wide\t{}", maybe_wide.show());
    println!("maybe_text\t{}", maybe_text.show());
    println!("many\t{}", many.show());
    match &result {
        Ok(value) => println!("result\t{{\"choice\": \"Ok\", \"value\": {}}}", value),
        Err(text) => println!("result\t{{\"choice\": \"Err\", \"value\": {}}}", text.show()),
    }
    println!("boxed\t{{\"value\": {}}}", boxed.show());
    println!("shared\t{{\"owners\": 2, \"value\": {}}}", shared.show());
    println!("again\t{{\"owners\": 2, \"value\": {}}}", again.show());
    println!("atomic_shared\t{{\"owners\": 1, \"value\": {}}}", atomic_shared);
    println!("by_word\t{}", pairs(by_word.iter()));
    println!("seen\t{}", all(seen.iter()));
    println!("sorted\t{}", pairs(sorted.iter()));
    println!("names\t{}", all(names.iter()));
    println!("ring\t{}", all(ring.iter()));
    println!("cell\t{}", cell.get());
    println!("borrowed\t{}", borrowed.borrow().show());
    println!("guarded\t{}", *guarded.lock().unwrap());
    println!("place\t\"{}\"", place.display());
    println!("pause\t\"{}.{:09} s\"", pause.as_secs(), pause.subsec_nanos());
    match &shape {
        Shape::Circle(size) => println!("shape\t{{\"choice\": \"Circle\", \"value\": {}}}", size),
        Shape::Named { label, sides } => println!(
            "shape\t{{\"choice\": \"Named\", \"value\": {{\"label\": {}, \"sides\": {}}}}}",
            label.show(),
            sides
        ),
        Shape::Empty => println!("shape\t{{\"choice\": \"Empty\"}}"),
    }
    println!("tuple\t{{\"__0\": {}, \"__1\": {}}}", tuple.0, tuple.1.show());
    println!("counter\t{:?}", counter);
    unsafe {
        *nowhere = 1; // crashes here
    }
    drop(again);
}

fn main() {
    let seed = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1);
    let nowhere = std::env::args().count() as usize - 1;
    fill(nowhere as *mut i32, seed);
}
