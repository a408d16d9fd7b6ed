//! Output: results on stdout; progress on stderr, and only if that is a terminal.

use anyhow::Result;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::{
    borrow::Cow,
    fmt::{self, Display},
    io::{self, ErrorKind, IsTerminal, Write},
    path::PathBuf,
    sync::{Arc, LazyLock},
    time::{Duration, Instant},
};
use structcomp::memory::{Exceeded, human_bytes};
use structcomp::{Fitted, Steps};

/// Writes a result to stdout.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(harmless(text).as_bytes())?;
    out.flush()?;
    Ok(())
}

/// Writes a report to stdout, in colour if that is a terminal.
pub(crate) fn print_report(text: &str) -> Result<()> {
    let text = harmless(text);
    let text = if in_colour(&io::stdout()) { coloured(&text).into() } else { text };
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// Writes an error to stderr; there is no way to report that this failed.
pub(crate) fn tell_error(message: &str) {
    let label = if in_colour(&io::stderr()) { "\x1b[1;31merror:\x1b[0m" } else { "error:" };
    let _ = writeln!(io::stderr(), "{label} {}", harmless(message));
}

/// Ends the program where more memory is needed than allowed.
pub(crate) fn end_without_memory(of: Exceeded) {
    structcomp::output::discard_unfinished();
    let [limit, held, asked] = [of.limit, of.held, of.asked].map(|bytes| human_bytes(bytes as u64));
    tell_error(&format!(
        "this needs more than the {limit} that --memory allows: {held} are in use, and {asked} more are needed; raise \
         --memory, or ask for less (fewer clusters, a smaller --hidden, --set width)"
    ));
    std::process::exit(1);
}

/// Whether a stream is a terminal that shows colours, and nobody asked for none; see no-color.org.
fn in_colour(stream: &impl IsTerminal) -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    stream.is_terminal() && !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|kind| kind != "dumb")
}

/// Titles in bold, labels in cyan.
fn coloured(report: &str) -> String {
    let line = |line: &str| match line.strip_prefix("  ") {
        None if line.trim().is_empty() => line.to_owned(),
        None => format!("\x1b[1m{}\x1b[0m{}", line.trim_end(), &line[line.trim_end().len()..]),
        Some(rest) => {
            let indent = rest.len() - rest.trim_start().len();
            let label = indent + rest[indent..].find("  ").unwrap_or(rest.len() - indent);
            format!("  \x1b[36m{}\x1b[0m{}", &rest[..label], &rest[label..])
        }
    };
    report.split_inclusive('\n').map(line).collect()
}

/// Writes a line to stderr; there is no way to report that this failed.
pub(crate) fn tell(line: &str) {
    let _ = writeln!(io::stderr(), "{}", harmless(line));
}

/// Text without control characters, which names in a file may contain and a terminal would obey.
fn harmless(text: &str) -> Cow<'_, str> {
    let harms = |letter: char| letter.is_control() && letter != '\n' && letter != '\t';
    match text.contains(harms) {
        false => text.into(),
        true => text.chars().map(|letter| if harms(letter) { '\u{fffd}' } else { letter }).collect(),
    }
}

/// Writes one JSON object to stdout.
pub(crate) fn print_json(object: &impl serde::Serialize) -> Result<()> {
    print(&format!("{}\n", serde_json::to_string_pretty(object)?))
}

/// Whether the reader of our output has closed it.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

/// Files by their names.
pub(crate) fn listed(files: &[PathBuf]) -> String {
    let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    names.join(", ")
}

/// Ended by a signal, after what there was has been written; and what the user should know.
#[derive(Debug)]
pub(crate) struct Interrupted(pub(crate) String);

impl Interrupted {
    /// Fails if training was interrupted, and names the files that were written.
    pub(crate) fn check(fitted: &Fitted, written: Vec<PathBuf>) -> Result<()> {
        if !fitted.interrupted {
            return Ok(());
        }
        Err(Self(match &written[..] {
            [] => "nothing was written".into(),
            files => format!("wrote {}", listed(files)),
        })
        .into())
    }
}

impl Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "interrupted; {}", self.0)
    }
}

impl std::error::Error for Interrupted {}

/// How far the work of the library has got.
static PROGRESS: LazyLock<Arc<Steps>> = LazyLock::new(Arc::default);

/// Where work counts its steps.
pub(crate) fn counted() -> &'static Arc<Steps> {
    &PROGRESS
}

/// Begins another stage of the work.
pub(crate) fn stage(spinner: &ProgressBar, what: String) {
    PROGRESS.reset();
    spinner.reset_elapsed();
    spinner.set_message(what);
}

/// A bar and the time left where the length is known, otherwise the time since the stage began.
fn how_far(share: Option<f64>, elapsed: Duration) -> String {
    const WIDTH: usize = 30;
    let clock = |time: f64| HumanDuration(Duration::from_secs_f64(time.min(1e7))).to_string();
    match share {
        None => format!("{}s", elapsed.as_secs()),
        Some(share) => {
            let full = (share * WIDTH as f64) as usize;
            let bar = format!("{}{}", "█".repeat(full), "░".repeat(WIDTH - full));
            let left = match share > 0.02 {
                true => format!(" {} left", clock(elapsed.as_secs_f64() * (1.0 / share - 1.0))),
                false => String::new(),
            };
            format!("{bar} {:>3.0} %{left}", 100.0 * share)
        }
    }
}

/// What is under way: with a bar and the time left, where the length is known.
pub(crate) fn spinner(quiet: bool, what: String) -> ProgressBar {
    let spinner = bar(quiet, None);
    let style = ProgressStyle::with_template("{spinner} {msg} {progress}");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
    spinner.set_style(style.with_key("progress", |bar: &ProgressState, out: &mut dyn fmt::Write| {
        // There is nobody to tell if it fails.
        let _ = out.write_str(&how_far(PROGRESS.share(), bar.elapsed()));
    }));
    stage(&spinner, what);
    spinner.enable_steady_tick(Duration::from_millis(120));
    spinner
}

/// A bar for `total` steps or, with `bytes`, for that many bytes.
pub(crate) fn progress(quiet: bool, total: u64, bytes: bool) -> ProgressBar {
    let template = match bytes {
        true => "{msg:24!} {bar:30} {bytes}/{total_bytes} {bytes_per_sec} {eta}",
        false => "{msg:24!} {bar:30} {percent:>3}% {eta}",
    };
    let bar = bar(quiet, Some(total));
    bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

fn bar(quiet: bool, total: Option<u64>) -> ProgressBar {
    // indicatif hides itself where stderr is not a terminal.
    let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    ProgressBar::with_draw_target(total, target)
}

/// `1234567` as `1,234,567`.
pub(crate) fn grouped(number: impl TryInto<u64>) -> String {
    let digits = number.try_into().unwrap_or(u64::MAX).to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A result as a title and rows of numbers.
#[derive(Default)]
pub(crate) struct Lines {
    pub(crate) text: String,
}

impl Lines {
    /// The first line: the data, what was made of it, and its size.
    pub(crate) fn data_title(&mut self, data: &structcomp::data::DataSummary, what: &str) {
        let synthetic = if data.synthetic { " (synthetic)" } else { "" };
        let size = format!("({} nodes, {} edges)", grouped(data.nodes), grouped(data.edges));
        self.title(&format!("{}{synthetic}: {what}", data.name), &size);
    }

    /// What was repaired and assumed while the data were read.
    pub(crate) fn remarks(&mut self, data: &structcomp::data::DataSummary) {
        if let Some(repairs) = data.repairs.describe(data.edges as u64) {
            self.row("repairs", String::new(), repairs);
        }
        data.notes.iter().for_each(|note| self.row("note", String::new(), note.clone()));
    }

    pub(crate) fn title(&mut self, name: &str, about: &str) {
        self.text += &format!("{name} {about}\n");
    }

    /// A label, a right-aligned number, and what it is.
    pub(crate) fn row(&mut self, label: &str, number: String, about: String) {
        let line = match number.is_empty() {
            true => format!("  {label:<12} {about}"),
            false => format!("  {label:<12} {number:>13}  {about}"),
        };
        self.text += line.trim_end();
        self.text.push('\n');
    }

    /// The time of all stages, and of each.
    pub(crate) fn seconds(&mut self, total: f64, stages: &[(&str, f64)]) {
        let stages: Vec<String> = stages.iter().map(|(name, time)| format!("{name} {time:.3}")).collect();
        self.row("seconds", format!("{total:.3}"), stages.join(", "));
    }

    pub(crate) fn memory(&mut self, peak_rss_bytes: Option<u64>) {
        if let Some(bytes) = peak_rss_bytes {
            self.row("memory", structcomp::memory::human_bytes(bytes), "peak".into());
        }
    }
}

/// Seconds since it was last asked.
pub(crate) struct Lap(Instant);

impl Default for Lap {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Lap {
    pub(crate) fn time(&mut self) -> f64 {
        let now = Instant::now();
        now.duration_since(std::mem::replace(&mut self.0, now)).as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        assert_eq!(harmless("a\tname\n"), "a\tname\n");
        assert_eq!(harmless("\x1b[31mred\u{9b}0m\r"), "\u{fffd}[31mred\u{fffd}0m\u{fffd}");
    }

    #[test]
    fn a_bar_shows_the_time_left() {
        let second = Duration::from_secs(1);
        assert_eq!(how_far(None, 3 * second), "3s");
        let half = how_far(Some(0.5), 10 * second);
        assert!(half.starts_with(&"█".repeat(15)) && half.ends_with("░  50 % 10 seconds left"), "{half}");
        assert!(how_far(Some(0.0), second).ends_with("░   0 %"));
    }

    #[test]
    fn titles_and_labels_are_coloured() {
        let report = "cora (2 nodes)\n  edges  5  undirected\n    SSGC-16  7\n\n";
        let painted = "\x1b[1mcora (2 nodes)\x1b[0m\n  \x1b[36medges\x1b[0m  5  undirected\n  \x1b[36m  SSGC-16\x1b[0m  7\n\n";
        assert_eq!(coloured(report), painted);
    }

    #[test]
    fn large_numbers_are_grouped() {
        assert_eq!(grouped(7u64), "7");
        assert_eq!(grouped(1234u64), "1,234");
        assert_eq!(grouped(61_859_140u64), "61,859,140");
    }
}
