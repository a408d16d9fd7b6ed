use super::*;
use rand::RngExt;
use structcomp::Seed;

/// Fails unless every tag is closed in its turn and every attribute is quoted.
fn assert_well_formed(html: &str) {
    let body = html.strip_prefix("<!DOCTYPE html>\n").unwrap();
    // Styles are not markup.
    let (before, rest) = body.split_once("<style>").unwrap();
    let (_, after) = rest.split_once("</style>").unwrap();
    let mut open = Vec::new();
    for part in [before, after].concat().split('<').skip(1) {
        let (tag, text) = part.split_once('>').unwrap_or_else(|| panic!("a tag without end: {part}"));
        assert!(!text.contains('>'), "stray '>': {text}");
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        let name = |tag: &str| tag.split([' ', '/']).find(|name| !name.is_empty()).unwrap().to_owned();
        match tag.strip_prefix('/') {
            Some(closed) => assert_eq!(open.pop().as_deref(), Some(closed), "{part}"),
            None if tag.ends_with('/') => {}
            None => open.push(name(tag)),
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

fn accuracy(mean: f64) -> Accuracy {
    Accuracy { mean, std: 1.25, runs: 2, per_split: vec![mean; 2] }
}

fn embedding(rows: usize) -> Dense {
    let mut rng = Seed(2).stream("embedding");
    Dense::new(rows, 6, (0..rows * 6).map(|_| rng.random_range(-1.0..1.0)).collect::<Vec<f32>>()).unwrap()
}

#[test]
fn a_full_page_has_every_row_and_nothing_from_outside() {
    let (embedding, partition) = (embedding(30), Partition::new((0..30).map(|v| v % 7).collect()).unwrap());
    let labels = Labels::new((0..30).map(|v| (v > 0).then_some(v % 14))).unwrap();
    let (trained, raw) = (accuracy(81.5), accuracy(58.0));
    let losses: Vec<f64> = (0..50).map(|epoch| 40.0 * 0.8f64.powi(epoch)).collect();
    let page = RunPage {
        title: "a <b> & \"c\"".into(),
        about: "30 nodes".into(),
        facts: vec![("model".into(), "<script>alert(1)</script>".into()), ("seed".into(), "0".into())],
        accuracy: vec![("embedding".into(), &trained), ("X".into(), &raw)],
        protocol: "2 splits".into(),
        comparisons: vec![("Â²X".into(), Comparison { difference: 1.5, p_value: 1e-7 })],
        losses: &losses,
        partition: Some(&partition),
        embedding: Some(&embedding),
        labels: Some(&labels),
        seconds: vec![("load".into(), 0.0123), ("train".into(), 4.5)],
        peak_rss_bytes: Some(1 << 20),
    };
    let html = page.html();
    assert_well_formed(&html);
    for part in [
        "<h1>a &lt;b&gt; &amp; &quot;c&quot;</h1>",
        "81.50 ± 1.25",
        "58.00 ± 1.25",
        "+1.50 points compared with Â²X: better (paired t-test, p = 1.0e-7)",
        "2 splits",
        "loss, logarithmic scale",
        "nodes per cluster",
        "first component, ",
        "class 11</li>",
        "and 2 more classes",
        "no label",
        "12.3 ms",
        "4.50 s",
        "Peak memory: 1.0 MiB",
        "&lt;script&gt;alert(1)&lt;/script&gt;",
    ] {
        assert!(html.contains(part), "{part}");
    }
    assert_eq!(html.matches("<svg").count(), 3);
    assert_eq!(html.matches("<circle").count(), 30);
    for never in ["http", "<script", "NaN", "inf\"", "url(", "@import"] {
        assert!(!html.contains(never), "{never}");
    }
    assert_eq!(html, page.html());
}

#[test]
fn absent_parts_have_no_heading() {
    let html = RunPage { title: "nothing".into(), ..RunPage::default() }.html();
    assert_well_formed(&html);
    assert!(!html.contains("<h2>") && html.contains("<h1>nothing</h1>"));
    let embedding = embedding(5);
    let html = RunPage { embedding: Some(&embedding), losses: &[f64::NAN], ..RunPage::default() }.html();
    assert_well_formed(&html);
    assert_eq!(html.matches("<h2>").count(), 1, "only the embedding");
}

#[test]
fn without_labels_the_clusters_color_the_rows() {
    let (embedding, partition) = (embedding(4), Partition::new(vec![0, 1, 1, 0]).unwrap());
    let page = RunPage { embedding: Some(&embedding), partition: Some(&partition), ..RunPage::default() };
    let html = page.html();
    assert!(html.contains("Colored by cluster"));
    assert_eq!(html.matches(&format!("fill=\"{}\"/>\n<circle", class_color(1))).count(), 2);
    // A partition of other nodes does not fit.
    let other = Partition::new(vec![0]).unwrap();
    let html = RunPage { partition: Some(&other), ..page }.html();
    assert!(!html.contains("Colored by cluster"));
}

#[test]
fn durations_have_suitable_units() {
    let said = [0.0, 0.0123, 0.0996, 0.5, 0.9996, 4.5, 119.0, 125.0, 7261.9].map(duration);
    let want = [
        "0.0 ms",
        "12.3 ms",
        "100 ms",
        "500 ms",
        "1.00 s",
        "4.50 s",
        "119.00 s",
        "2 min 05 s",
        "121 min 01 s",
    ];
    assert_eq!(said, want);
}

#[test]
fn zero_accuracies_and_times_have_empty_bars() {
    let none = accuracy(0.0);
    let page = RunPage {
        accuracy: vec![("embedding".into(), &none)],
        comparisons: vec![("X".into(), Comparison { difference: 0.0, p_value: 1.0 })],
        seconds: vec![("load".into(), 0.0)],
        ..RunPage::default()
    };
    let html = page.html();
    assert_eq!(html.matches("width:0.0%").count(), 2);
    assert!(
        html.contains("+0.00 points compared with X: no significant difference (paired t-test, p = 1.000)")
    );
}
