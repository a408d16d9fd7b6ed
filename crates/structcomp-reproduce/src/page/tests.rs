use super::*;
use rand::RngExt;
use std::collections::BTreeMap;
use structcomp::map::Map;
use structcomp::{Budget, Dense, Labels, NodeIds, Seed};

/// Fails unless every tag is closed in its turn and every attribute is quoted.
fn assert_well_formed(html: &str) {
    let body = html.strip_prefix("<!DOCTYPE html>\n").unwrap();
    // Styles and scripts are not markup.
    let mut markup = body.to_owned();
    for (start, end) in [("<style", "</style>"), ("<script", "</script>"), ("<script", "</script>")] {
        if let Some((before, (_, after))) =
            markup.split_once(start).map(|(a, b)| (a, b.split_once(end).unwrap()))
        {
            markup = before.to_owned() + after;
        }
    }
    let mut open = Vec::new();
    for part in markup.split('<').skip(1) {
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

fn map(rows: usize) -> Map {
    let mut rng = Seed(2).stream("embedding");
    let values: Vec<f32> = (0..rows * 6).map(|_| rng.random_range(-1.0..1.0)).collect();
    Map::of(&Dense::new(rows, 6, values).unwrap(), Budget::default()).unwrap()
}

/// What the script reads.
fn points(html: &str) -> serde_json::Value {
    let (_, rest) = html.split_once("<script type=\"application/json\" id=\"points\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn a_full_page_has_every_row_and_nothing_from_outside() {
    let (map, partition) = (map(30), Partition::new((0..30).map(|v| v % 7).collect()).unwrap());
    let labels = Labels::new((0..30).map(|v| (v > 0).then_some(v % 14))).unwrap();
    let (trained, raw) = (accuracy(81.5), accuracy(58.0));
    let losses: Vec<f64> = (0..50).map(|epoch| 40.0 * 0.8f64.powi(epoch)).collect();
    let confusion: Vec<BTreeMap<u32, u64>> = (0..14).map(|class| [(class, 30), (0, 10)].into()).collect();
    let nodes: Vec<u32> = (0..30).collect();
    let ids = NodeIds::Implicit;
    let page = RunPage {
        title: "a <b> & \"c\"".into(),
        headline: "81.5 % of test nodes".into(),
        figures: vec![("30".into(), "nodes")],
        map: Some(PageMap { map: &map, nodes: &nodes, ids: &ids, labels: Some(&labels), about: "t-SNE" }),
        facts: vec![("model".into(), "<script>alert(1)</script>".into())],
        accuracy: vec![("embedding", "", &trained), ("X", "no hops", &raw)],
        protocol: vec!["2 splits".into()],
        classes: Some(ClassTable { labels: &labels, confusion: &confusion }),
        making: vec!["All epochs.".into()],
        parts: &[("two hops".into(), 0.25)],
        losses: &losses,
        partition: Some(&partition),
        seconds: vec![("load", 0.0123), ("train", 4.5)],
        peak_rss_bytes: Some(1 << 20),
        origin: vec![("command", "structcomp run".into())],
        ..RunPage::default()
    };
    let html = page.html();
    assert_well_formed(&html);
    for part in [
        "<h1>a &lt;b&gt; &amp; &quot;c&quot;</h1>",
        "81.50 <small>± 1.25</small>",
        "58.00 <small>± 1.25</small>",
        "class 3 <small>2 nodes; 25 % taken for class 0</small>",
        "2 more classes",
        "<td class=\"h8\">75</td>",
        "two hops</span><span class=\"value\">25 %",
        "loss, logarithmic scale",
        "nodes per cluster",
        "12.3 ms",
        "4.50 s",
        "Peak memory: 1.0 MiB",
        "&lt;script&gt;alert(1)&lt;/script&gt;",
        "<td>structcomp run</td>",
    ] {
        assert!(html.contains(part), "{part}");
    }
    let read = points(&html);
    assert_eq!((read["nearest"].as_u64(), read["names"].is_null()), (Some(10), true));
    assert_eq!(read["classes"][13], "class 13");
    for never in ["http:", "https:", "src=", "href=", "style=", "NaN", "inf\"", "url(", "@import", "onclick"]
    {
        assert!(!html.contains(never), "{never}");
    }
    assert_eq!(html, page.html());
}

#[test]
fn absent_parts_have_no_heading() {
    let html = RunPage { title: "nothing".into(), losses: &[f64::NAN], ..RunPage::default() }.html();
    assert_well_formed(&html);
    assert!(!html.contains("<h2>") && html.contains("<h1>nothing</h1>"));
    assert!(html.contains("script-src 'none'") && !html.contains("<script"));
}

#[test]
fn names_are_never_markup() {
    let names = ["</script><script>alert(1)</script>", "<!--", "\u{0}\u{7}\u{202e}a\n", "'\"&"];
    let ids = NodeIds::from_names(names.map(Into::into).to_vec()).unwrap();
    let labels = Labels::from_names(&names).unwrap();
    let confusion: Vec<BTreeMap<u32, u64>> = (0..4).map(|class| [(class, 1), (0, 2)].into()).collect();
    let map = map(4);
    let page = RunPage {
        title: names[0].into(),
        map: Some(PageMap { map: &map, nodes: &[0, 1, 2, 3], ids: &ids, labels: Some(&labels), about: "" }),
        classes: Some(ClassTable { labels: &labels, confusion: &confusion }),
        ..RunPage::default()
    };
    let html = page.html();
    assert_well_formed(&html);
    assert_eq!(html.matches("</script>").count(), 2, "the points and the script");
    assert!(!html.contains("alert(1)</script>") && !html.contains("<!--"));
    assert_eq!(points(&html)["names"], serde_json::json!(names));
}

#[test]
fn names_are_cut_where_all_of_them_take_too_much() {
    let names: Vec<Box<str>> = (0..20_000).map(|node| format!("{node}-{}", "é".repeat(80)).into()).collect();
    let ids = NodeIds::from_names(names).unwrap();
    let nodes: Vec<u32> = (0..20_000).collect();
    let places = Dense::new(20_000, 2, vec![0.5; 40_000]).unwrap();
    let map = Map { places, nearest: vec![vec![]; 20_000] };
    let html = RunPage {
        map: Some(PageMap { map: &map, nodes: &nodes, ids: &ids, labels: None, about: "" }),
        ..RunPage::default()
    }
    .html();
    assert!(html.len() < 2_000_000, "{}", html.len());
    assert_eq!(points(&html)["names"][7], format!("7-{}…", "é".repeat(29)));
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
