//! Text compared with a file.

use std::path::Path;

/// Compares with `tests/snapshots/NAME.txt`, or rewrites that file if `UPDATE_SNAPSHOTS=1`.
pub(crate) fn snapshot(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(format!("{name}.txt"));
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some_and(|value| value == "1") {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        return std::fs::write(path, found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    let (mut old, mut new) = (expected.lines(), found.lines());
    for number in 1.. {
        match (old.next(), new.next()) {
            (None, None) => break,
            (old, new) => assert_eq!(
                old,
                new,
                "{}:{number} differs; UPDATE_SNAPSHOTS=1 accepts the new text",
                path.display()
            ),
        }
    }
}

/// Text without the numbers that differ between machines: a `#` in the place of everything with a decimal point, and one
/// space before it, as the width differs too.
pub(crate) fn masked(text: &str) -> String {
    let mask = |word: &str| {
        let number = word.trim_end_matches([',', ')', ';', '%']);
        let is_number = number.contains('.') && number.parse::<f64>().is_ok();
        if is_number { format!("#{}", &word[number.len()..]) } else { word.to_owned() }
    };
    let line = |line: &str| {
        let words: Vec<String> = line.split(' ').map(mask).collect();
        let mut line = words.join(" ");
        while line.contains("  #") {
            line = line.replace("  #", " #");
        }
        line + "\n"
    };
    text.lines().map(line).collect()
}
