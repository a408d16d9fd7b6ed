//! Signals: training ends after the epoch under way, anything else at once. Neither leaves temporary files.

use anyhow::Result;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering::Relaxed};

/// Set by the first signal; while it is set, the next one ends the program.
static STOP: AtomicBool = AtomicBool::new(true);
static RECEIVED: AtomicI32 = AtomicI32::new(0);

/// Lets the next signal only set the flag, for work that looks at it.
pub(crate) fn asked_to_stop() -> &'static AtomicBool {
    STOP.store(false, Relaxed);
    &STOP
}

/// The exit status of a program that a signal ended.
pub(crate) fn exit_code() -> u8 {
    128 + RECEIVED.load(Relaxed) as u8
}

/// Starts to listen, in a thread of its own.
#[cfg(unix)]
pub(crate) fn listen() -> Result<()> {
    use anyhow::Context;
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
    let wanted = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&signal| signal != SIGHUP || !ignored(signal));
    let mut signals = signal_hook::iterator::Signals::new(wanted).context("cannot listen for signals")?;
    // A file that may not grow any more is then an error of the write, like a full disk.
    static GREW: AtomicBool = AtomicBool::new(false);
    signal_hook::flag::register(SIGXFSZ, &GREW).context("cannot listen for signals")?;
    std::thread::spawn(move || {
        for signal in signals.forever() {
            RECEIVED.store(signal, Relaxed);
            if STOP.swap(true, Relaxed) {
                structcomp::output::discard_unfinished();
                std::process::exit(i32::from(exit_code()));
            }
        }
    });
    Ok(())
}

/// Elsewhere, Ctrl-C ends the program.
#[cfg(not(unix))]
pub(crate) fn listen() -> Result<()> {
    Ok(())
}

/// Whether the parent wants this signal ignored, as nohup does; known on Linux.
#[cfg(unix)]
fn ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
