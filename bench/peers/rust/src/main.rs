//! Tasks of Tokio: that do nothing, and that yield to each other.
//!
//!     spawn current_thread|multi_thread WORKERS N
//!     switching yield N SWITCHES
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use tokio::task::{self, JoinHandle};

async fn empty() {}

async fn spawn(n: usize) -> (Duration, Duration) {
    let start = Instant::now();
    let tasks: Vec<JoinHandle<()>> = (0..n).map(|_| task::spawn(empty())).collect();
    let spawned = start.elapsed();
    for task in tasks {
        task.await.unwrap();
    }
    (spawned, start.elapsed() - spawned)
}

/// The time of all yields of tasks that yield in turn, once all have started.
async fn yields(members: usize, laps: usize) -> Duration {
    let started = Arc::new(AtomicUsize::new(0));
    let tasks: Vec<JoinHandle<Instant>> = (0..members)
        .map(|_| {
            let started = started.clone();
            task::spawn(async move {
                started.fetch_add(1, Relaxed);
                let start = Instant::now();
                while started.load(Relaxed) < members {
                    task::yield_now().await;
                }
                for _ in 0..laps {
                    task::yield_now().await;
                }
                start
            })
        })
        .collect();
    let mut start = Instant::now();
    for task in tasks {
        start = task.await.unwrap();
    }
    start.elapsed()
}

fn runtime(variant: &str, workers: usize) -> Runtime {
    match variant {
        "multi_thread" => Builder::new_multi_thread().worker_threads(workers).build(),
        _ => Builder::new_current_thread().build(),
    }
    .unwrap()
}

/// Does the work in a task: in a runtime of several threads the main thread is none of them.
fn in_task<F>(runtime: &Runtime, work: F) -> F::Output
where
    F: std::future::Future + Send + 'static,
    F::Output: Send,
{
    runtime.block_on(async { task::spawn(work).await.unwrap() })
}

/// The version that Cargo has found.
fn version() -> String {
    let mut lines = include_str!("../Cargo.lock").lines();
    lines.find(|line| *line == r#"name = "tokio""#);
    let version = lines
        .next()
        .unwrap_or("")
        .replace("version = ", "")
        .replace('"', "");
    format!("Tokio {version}")
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize| args[i].parse::<usize>().expect("a number");
    match args[0].as_str() {
        "spawn" => {
            let on = runtime(&args[1], number(2));
            let n = number(3);
            in_task(&on, spawn(n));
            let (spawn, run) = in_task(&on, spawn(n));
            let (spawn, run) = (spawn.as_secs_f64() * 1e3, run.as_secs_f64() * 1e3);
            let total = spawn + run;
            let version = version();
            let times = format!(r#""spawn_ms": {spawn:.6}, "run_ms": {run:.6}"#);
            println!(r#"{{"version": "{version}", {times}, "total_ms": {total:.6}}}"#);
        }
        "switching" => {
            let on = runtime("current_thread", 1);
            let (members, laps) = (number(2), (number(3) / number(2)).max(1));
            in_task(&on, yields(members, laps));
            let took = in_task(&on, yields(members, laps));
            let ns = took.as_nanos() as f64 / (members * laps) as f64;
            println!(
                r#"{{"version": "{}", "ns_per_switch": {ns:.3}}}"#,
                version()
            );
        }
        other => panic!("{other} is neither spawn nor switching"),
    }
}
