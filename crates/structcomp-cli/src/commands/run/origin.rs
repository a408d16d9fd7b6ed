//! What a run was started with, and when.

use std::ffi::OsString;
use std::time::{SystemTime, UNIX_EPOCH};

/// The command as it can be given to a shell again, whatever this program is called.
pub(super) fn command_line(args: impl Iterator<Item = OsString>) -> String {
    let given = args.skip(1).map(|arg| quoted(&arg.to_string_lossy()));
    std::iter::once("structcomp".to_owned()).chain(given).collect::<Vec<_>>().join(" ")
}

fn quoted(arg: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=,@%+".contains(letter);
    match !arg.is_empty() && arg.chars().all(is_plain) {
        true => arg.to_owned(),
        false => format!("'{}'", arg.replace('\'', "'\\''")),
    }
}

/// A time as in `2024-02-29T23:59:59Z`.
pub(super) fn utc(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (mut days, second) = (seconds / 86_400, seconds % 86_400);
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + leap(year) as u64 {
        days -= 365 + leap(year) as u64;
        year += 1;
    }
    let lengths = [31, 28 + leap(year) as u64, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    let (month, day) = (month + 1, days + 1);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn times_are_those_of_the_calendar() {
        // As printed by `date -u -d @…`.
        for (seconds, want) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_868_799, "2000-02-29T23:59:59Z"),
            (1_709_251_199, "2024-02-29T23:59:59Z"),
            (1_735_689_600, "2025-01-01T00:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(utc(UNIX_EPOCH + Duration::from_secs(seconds)), want);
        }
    }

    #[test]
    fn a_command_can_be_given_to_a_shell_again() {
        let args = ["/bin/x", "run", "--edges", "my edges.csv", "it's", "", "a=1", "$HOME"];
        let want = "structcomp run --edges 'my edges.csv' 'it'\\''s' '' a=1 '$HOME'";
        assert_eq!(command_line(args.iter().map(Into::into)), want);
    }
}
