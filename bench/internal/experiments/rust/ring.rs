// ring.rs - rings of threads, with what Rust's standard library has: each member receives from its
// own channel, and sends to its neighbour's.
//
// ring RINGS MEMBERS ROUNDS STRICT LIFO EXTRA WORKERS prints the time in ns from the first send to
// the last end, and by how many bytes VmRSS + VmPTE grew until all members were waiting (LIFO:
// until the end). With one worker, all threads share one CPU.
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::thread::{Builder, JoinHandle};
use std::time::Instant;

const STACK: usize = 64 << 10;

static STARTED: AtomicU64 = AtomicU64::new(0);
static ENDED: AtomicU64 = AtomicU64::new(0);

extern "C" {
    fn sched_getaffinity(thread: i32, bytes: usize, set: *mut u64) -> i32;
    fn sched_setaffinity(thread: i32, bytes: usize, set: *const u64) -> i32;
}

/// Pins this thread, and those that it makes, to the first CPU that it may use.
fn on_one_cpu() {
    let (mut may, mut one) = ([0u64; 16], [0u64; 16]);
    let bytes = std::mem::size_of_val(&may);
    assert_eq!(0, unsafe { sched_getaffinity(0, bytes, may.as_mut_ptr()) });
    let word = may.iter().position(|w| *w != 0).expect("a CPU");
    one[word] = may[word] & may[word].wrapping_neg();
    assert_eq!(0, unsafe { sched_setaffinity(0, bytes, one.as_ptr()) });
}

/// Calls f with this number of bytes in use on the stack.
#[inline(never)]
fn with_stack(bytes: usize, f: &mut dyn FnMut()) -> u8 {
    let mut frame = [0u8; 256];
    let at = &mut frame[bytes % 256] as *mut u8;
    unsafe { at.write_volatile(1) };
    if bytes > 256 {
        with_stack(bytes - 256, f);
    } else {
        f();
    }
    unsafe { at.read_volatile() }
}

#[derive(Clone)]
struct Run {
    rings: u64,
    members: u64,
    rounds: u64,
    strict: bool,
    lifo: bool,
    extra: usize,
    changed: Sender<()>, // when all that were started wait, and when they have ended
}

struct Ring {
    events: Vec<Sender<()>>,
    threads: Vec<JoinHandle<()>>,
}

impl Run {
    /// count tells when n of them have come.
    fn count(&self, counter: &AtomicU64, n: u64) {
        if counter.fetch_add(1, Ordering::SeqCst) + 1 == n {
            self.changed.send(()).unwrap();
        }
    }

    fn member(&self, own: Receiver<()>, next: Sender<()>, last: bool, awaited: u64) {
        let mut turns = || {
            self.count(&STARTED, awaited);
            for _ in 0..self.rounds {
                own.recv().unwrap();
                next.send(()).unwrap();
            }
            if last {
                own.recv().unwrap();
            }
        };
        if self.extra > 0 {
            with_stack(self.extra, &mut turns);
        } else {
            turns();
        }
        self.count(&ENDED, awaited);
    }

    /// A new ring; awaited is how many members there are with it.
    fn start(&self, awaited: u64) -> Ring {
        let (events, own): (Vec<_>, Vec<_>) = (0..self.members).map(|_| channel()).unzip();
        let mut threads = Vec::new();
        for (i, own) in own.into_iter().enumerate() {
            let (run, next) = (self.clone(), events[(i + 1) % events.len()].clone());
            let last = i == 0 || !self.strict;
            let thread = Builder::new().stack_size(STACK + 2 * self.extra);
            threads.push(
                thread.spawn(move || run.member(own, next, last, awaited)).expect("a thread"),
            );
        }
        Ring { events, threads }
    }

    fn fire(&self, ring: &Ring) {
        let tokens = if self.strict { 1 } else { ring.events.len() };
        for event in &ring.events[..tokens] {
            event.send(()).unwrap();
        }
    }
}

fn resident() -> i64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let kb = |line: &str| line.split_whitespace().nth(1).unwrap().parse::<i64>().unwrap();
    status
        .lines()
        .filter(|line| line.starts_with("VmRSS:") || line.starts_with("VmPTE:"))
        .map(|line| kb(line) << 10)
        .sum()
}

fn join(ring: Ring) {
    for thread in ring.threads {
        thread.join().unwrap();
    }
}

fn main() {
    let arg: Vec<u64> = std::env::args().skip(1).map(|a| a.parse().unwrap()).collect();
    let (changed, waiter) = channel();
    let run = Run {
        rings: arg[0],
        members: arg[1],
        rounds: arg[2],
        strict: arg[3] != 0,
        lifo: arg[4] != 0,
        extra: arg[5] as usize,
        changed,
    };
    if arg[6] == 1 {
        on_one_cpu();
    }
    let n = run.rings * run.members;
    let before = resident();
    let (begin, waiting, end);
    if run.lifo {
        begin = Instant::now();
        for k in 1..=run.rings {
            let ring = run.start(k * run.members);
            waiter.recv().unwrap();
            run.fire(&ring);
            waiter.recv().unwrap();
            join(ring);
        }
        end = begin.elapsed();
        waiting = resident();
    } else {
        let rings: Vec<Ring> = (0..run.rings).map(|_| run.start(n)).collect();
        waiter.recv().unwrap();
        waiting = resident();
        begin = Instant::now();
        for ring in &rings {
            run.fire(ring);
        }
        waiter.recv().unwrap();
        end = begin.elapsed();
        rings.into_iter().for_each(join);
    }
    println!("{} {}", end.as_nanos(), waiting - before);
}
