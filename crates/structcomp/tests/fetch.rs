//! Downloads of named datasets from a misbehaving server, and verification of the published files.
#![cfg(feature = "download")]
#![allow(clippy::unwrap_used)] // a test fails by panicking

mod published;
#[path = "fetch/server.rs"]
mod server;

use server::{Answer, Server};
use sha2::{Digest, Sha256};
use std::{
    fs,
    io::Write,
    path::PathBuf,
    time::{Duration, Instant},
};
use structcomp::{
    Error,
    data::{
        fetch::{FetchOptions, Fetched, fetch},
        named::{self, Expected, File, FileStage, FileState, NamedDataset},
    },
};

const BODY: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz";

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn file(name: &str, body: &[u8]) -> File {
    let url = Some(format!("https://nowhere.invalid/data/{name}"));
    let (bytes, sha256) = (Some(body.len() as u64), Some(sha256(body)));
    File { name: name.into(), url, bytes, sha256, optional: false }
}

fn dataset(files: Vec<File>) -> NamedDataset {
    let expected = Expected {
        nodes: 0,
        edges: None,
        features: 0,
        classes: 0,
        unlabelled: None,
        repairs: None,
        measured: false,
    };
    NamedDataset {
        name: "toy".into(),
        aliases: Vec::new(),
        publisher: "us".into(),
        licence: "not stated".into(),
        note: None,
        archive: None,
        files,
        expected,
    }
}

/// A dataset of one file, a server for it, and an empty folder.
struct Case {
    dataset: NamedDataset,
    server: Server,
    folder: tempfile::TempDir,
}

impl Case {
    fn new(answers: Vec<Answer>) -> Self {
        let server = Server::start(&[("/data/a.bin", BODY)], answers);
        Self { dataset: dataset(vec![file("a.bin", BODY)]), server, folder: tempfile::tempdir().unwrap() }
    }

    /// The same, with unknown size and checksum.
    fn unrecorded(answers: Vec<Answer>) -> Self {
        let mut case = Self::new(answers);
        (case.dataset.files[0].bytes, case.dataset.files[0].sha256) = (None, None);
        case
    }

    fn options(&self) -> FetchOptions {
        FetchOptions {
            base_url: Some(self.server.url()),
            connect_timeout: Duration::from_secs(1),
            stall_timeout: Duration::from_millis(400),
            least_rate: 0,
            most_bytes: 1 << 20,
            retries: 2,
            pause: Duration::from_millis(10),
        }
    }

    fn fetch(&self) -> Result<Fetched, Error> {
        fetch(&self.dataset, self.folder.path(), &self.options(), &mut |_| {})
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("toy").join(name)
    }

    /// The names in the dataset's folder, sorted.
    fn held(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.folder.path().join("toy")) else { return Vec::new() };
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_str().unwrap().to_owned()).collect();
        names.sort();
        names
    }

    fn assert_fetched(&self) {
        self.fetch().unwrap();
        assert_eq!(fs::read(self.path("a.bin")).unwrap(), BODY);
        assert_eq!(self.held(), ["a.bin"]);
    }
}

#[test]
fn a_missing_file_is_downloaded_once_and_with_progress() {
    let case = Case::new(vec![Answer::Honest]);
    let mut seen = Vec::new();
    let fetched = fetch(&case.dataset, case.folder.path(), &case.options(), &mut |progress| {
        assert_eq!(progress.file, "a.bin");
        seen.push((progress.stage, progress.done, progress.total));
    })
    .unwrap();
    let whole = Some(BODY.len() as u64);
    assert!(
        seen.contains(&(FileStage::Download, 36, whole)) && seen.contains(&(FileStage::Check, 36, whole)),
        "{seen:?}"
    );
    assert_eq!((fetched.files[0].bytes, &fetched.files[0].sha256), (36, &sha256(BODY)));
    assert!(fetched.warnings.is_empty());
    assert_eq!(fs::read(case.path("a.bin")).unwrap(), BODY);
    assert_eq!(case.server.requests()[0].header("accept-encoding"), Some("identity"));
    assert_eq!(case.fetch().unwrap(), Fetched::default());
    assert_eq!(case.server.requests().len(), 1, "an existing file is not requested again");
}

#[test]
fn an_interrupted_download_resumes() {
    let case = Case::new(vec![Answer::Cut(10), Answer::Honest]);
    case.assert_fetched();
    let requests = case.server.requests();
    assert_eq!(requests[0].header("range"), None);
    assert_eq!(requests[1].header("range"), Some("bytes=10-"));
    assert_eq!(requests[1].header("if-range"), Some("\"v1\""));
    assert_eq!(requests.len(), 2);
}

#[test]
fn a_transfer_that_hardly_moves_is_given_up() {
    let case = Case::new(vec![Answer::Slow]);
    // Four bytes in 60 milliseconds.
    let options = FetchOptions {
        stall_timeout: Duration::from_millis(400),
        least_rate: 10_000,
        // A second attempt would begin with few bytes left.
        retries: 0,
        ..case.options()
    };
    let error = fetch(&case.dataset, case.folder.path(), &options, &mut |_| {}).unwrap_err().to_string();
    assert!(error.contains("too slow"), "{error}");
}

#[test]
fn a_body_without_end_stops_and_leaves_nothing() {
    let case = Case::unrecorded(vec![Answer::Unsized(vec![7; 3 << 20])]);
    let error = case.fetch().unwrap_err().to_string();
    assert!(error.contains("more than 1048576 bytes"), "{error}");
    assert_eq!(case.held(), [""; 0]);
}

#[test]
fn progress_resets_the_retries() {
    let case = Case::new(vec![Answer::Cut(3)]);
    case.assert_fetched();
    assert_eq!(case.server.requests().len(), 12, "36 bytes in threes, with two retries allowed");
}

#[test]
fn a_later_run_resumes_a_failed_one() {
    let case = Case::new(vec![
        Answer::Cut(10),
        Answer::Status(500),
        Answer::Status(503),
        Answer::Status(404),
        Answer::Honest,
    ]);
    let error = case.fetch().unwrap_err().to_string();
    assert!(error.contains("status 404"), "{error}");
    assert_eq!(case.held(), ["a.bin.part", "a.bin.part.etag"]);
    assert_eq!(fs::read(case.path("a.bin.part")).unwrap(), &BODY[..10]);
    case.assert_fetched();
    assert_eq!(case.server.requests().last().unwrap().header("range"), Some("bytes=10-"));
}

#[test]
fn without_range_support_a_download_starts_over() {
    let case = Case::new(vec![Answer::Cut(10), Answer::NoRanges]);
    case.assert_fetched();
    assert_eq!(case.server.requests()[1].header("range"), Some("bytes=10-"));
}

#[test]
fn a_file_that_changed_on_the_server_starts_over() {
    for weak in [false, true] {
        let new = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ9876543210".to_vec();
        let case = Case::unrecorded(vec![
            Answer::Cut(10),
            Answer::Change { body: new.clone(), weak },
            Answer::Honest,
        ]);
        if weak {
            case.server.set_etag("W/\"v1\"");
        }
        let fetched = case.fetch().unwrap();
        assert_eq!(fs::read(case.path("a.bin")).unwrap(), new, "weak: {weak}");
        assert_eq!(fetched.warnings.len(), 1);
        let said = format!("a.bin: cannot be verified (no known checksum); its SHA-256 is {}", sha256(&new));
        assert_eq!(fetched.warnings[0], said);
        assert_eq!(case.held(), ["a.bin"]);
    }
}

#[test]
fn without_etag_and_checksum_nothing_is_resumed() {
    let case = Case::unrecorded(vec![Answer::Cut(10), Answer::Honest]);
    case.server.set_etag("");
    case.assert_fetched();
    assert_eq!(case.server.requests()[1].header("range"), None);
}

#[test]
fn a_complete_partial_file_is_not_downloaded_again() {
    for case in [Case::new(vec![Answer::Honest]), Case::unrecorded(vec![Answer::Honest])] {
        fs::create_dir(case.folder.path().join("toy")).unwrap();
        fs::write(case.path("a.bin.part"), BODY).unwrap();
        fs::write(case.path("a.bin.part.etag"), "\"v1\"").unwrap();
        case.assert_fetched();
        assert_eq!(case.server.sent(), 0);
    }
}

#[test]
fn a_wrong_checksum_is_an_error_with_both_hashes_and_leaves_nothing() {
    let mut case = Case::new(vec![Answer::Honest]);
    case.dataset.files[0].sha256 = Some(sha256(b"another"));
    let error = case.fetch().unwrap_err().to_string();
    assert!(error.contains(&sha256(BODY)) && error.contains(&sha256(b"another")), "{error}");
    assert_eq!(case.held(), Vec::<String>::new());
    assert_eq!(case.server.requests().len(), 1, "the server would send the same bytes again");
}

#[test]
fn server_errors_are_retried_or_final() {
    let case = Case::new(vec![Answer::Status(500), Answer::Status(503), Answer::Honest]);
    case.assert_fetched();
    let case = Case::new(vec![Answer::Status(404)]);
    let error = case.fetch().unwrap_err();
    assert!(matches!(error, Error::Download { .. }));
    let said = error.to_string();
    let advice = format!("put these files into {}: a.bin", case.folder.path().join("toy").display());
    assert!(
        said.contains("/data/a.bin: the server answered with status 404") && said.contains(&advice),
        "{said}"
    );
    assert_eq!(case.server.requests().len(), 1);
    let case = Case::new(vec![Answer::Status(502)]);
    let said = case.fetch().unwrap_err().to_string();
    assert!(said.contains("status 502 (3 attempts without progress)"), "{said}");
    assert_eq!(case.server.requests().len(), 3);
}

#[test]
fn a_stalled_transfer_is_aborted_and_resumed() {
    let case = Case::new(vec![Answer::Stall(7), Answer::Honest]);
    case.assert_fetched();
    assert_eq!(case.server.requests()[1].header("range"), Some("bytes=7-"));
    let mut case = Case::new(vec![Answer::Stall(0)]);
    case.dataset.files[0].bytes = None;
    let begin = Instant::now();
    let error = case.fetch().unwrap_err().to_string();
    assert!(error.contains("interrupted after 0 B"), "{error}");
    assert!(begin.elapsed() < Duration::from_secs(5));
    assert!(!case.path("a.bin").exists());
}

#[test]
fn a_server_that_never_answers_times_out() {
    let case = Case::new(vec![Answer::Silence]);
    let begin = Instant::now();
    let error = case.fetch().unwrap_err().to_string();
    assert!(error.contains("timeout") && error.contains("3 attempts"), "{error}");
    assert!(begin.elapsed() < Duration::from_secs(6));
}

#[test]
fn a_slow_transfer_is_not_aborted() {
    let case = Case::new(vec![Answer::Slow]);
    let begin = Instant::now();
    case.assert_fetched();
    assert!(begin.elapsed() > Duration::from_millis(400), "longer than the stall timeout");
    assert_eq!(case.server.requests().len(), 1);
}

#[test]
fn a_body_of_the_wrong_length_is_refused() {
    let long = [BODY, b"and more"].concat();
    let case = Case::new(vec![Answer::Change { body: long.clone(), weak: false }]);
    let error = case.fetch().unwrap_err().to_string();
    assert!(error.contains("the server has 44 bytes, expected 36"), "{error}");
    assert_eq!(case.server.requests().len(), 1);
    let case = Case::new(vec![Answer::Unsized(long)]);
    let error = case.fetch().unwrap_err().to_string();
    assert!(error.contains("more than 36 bytes"), "{error}");
    assert_eq!(case.held(), Vec::<String>::new());
    let case = Case::new(vec![Answer::Unsized(BODY[..20].to_vec()), Answer::Honest]);
    case.assert_fetched();
}

#[test]
fn a_file_of_the_user_is_not_overwritten() {
    let case = Case::new(vec![Answer::Honest]);
    fs::create_dir(case.folder.path().join("toy")).unwrap();
    fs::write(case.path("a.bin"), "mine").unwrap();
    let error = case.fetch().unwrap_err().to_string();
    assert!(error.contains("is not the published file: has 4 bytes, expected 36"), "{error}");
    assert_eq!(fs::read(case.path("a.bin")).unwrap(), b"mine");
    assert!(case.server.requests().is_empty());
}

#[test]
fn a_missing_optional_file_is_a_warning() {
    let mut case = Case::new(vec![Answer::Honest]);
    case.dataset.files.insert(0, File { optional: true, ..file("absent.txt", b"?") });
    let fetched = case.fetch().unwrap();
    assert_eq!(fetched.files.len(), 1);
    assert!(fetched.warnings[0].starts_with("optional file absent.txt: "), "{fetched:?}");
    assert!(fetched.warnings[0].contains("status 404"), "{fetched:?}");
    assert_eq!(case.held(), ["a.bin"]);
}

#[test]
fn without_a_network_the_error_says_which_files_to_put_where() {
    let mut case = Case::new(vec![Answer::Honest]);
    case.dataset.files.push(file("b.bin", BODY));
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let options = FetchOptions { base_url: Some(format!("http://{nobody}")), ..case.options() };
    let error = fetch(&case.dataset, case.folder.path(), &options, &mut |_| {}).unwrap_err().to_string();
    let advice =
        format!("or put these files into {}: a.bin, b.bin", case.folder.path().join("toy").display());
    assert!(error.contains(&advice), "{error}");
    case.dataset.files.iter_mut().for_each(|file| file.url = None);
    let error = case.fetch().unwrap_err().to_string();
    assert!(
        error.starts_with("toy cannot be downloaded; put these files by us into")
            && error.contains("a.bin, b.bin"),
        "{error}"
    );
}

fn zipped(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in members {
        writer.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

#[test]
fn an_archive_is_extracted_and_deleted() {
    let archive = zipped(&[("arxiv/raw/edge.csv.gz", b"edges"), ("arxiv/split/time/train.csv.gz", b"train")]);
    let server = Server::start(&[("/data/arxiv.zip", &archive)], vec![Answer::Cut(30), Answer::Honest]);
    let member = |name: &str| File { url: None, bytes: None, sha256: None, ..file(name, b"") };
    let files = vec![member("raw/edge.csv.gz"), member("split/time/train.csv.gz")];
    let archive = Some(File { bytes: None, sha256: None, ..file("arxiv.zip", &archive) });
    let dataset = NamedDataset { archive, ..dataset(files) };
    let case = Case { dataset, server, folder: tempfile::tempdir().unwrap() };
    let fetched = case.fetch().unwrap();
    assert_eq!((fetched.files.len(), fetched.warnings.len()), (1, 1));
    assert_eq!(fs::read(case.path("raw/edge.csv.gz")).unwrap(), b"edges");
    assert_eq!(case.held(), ["raw", "split"]);
    assert!(case.dataset.locate(case.folder.path()).is_ok());
    assert_eq!(case.fetch().unwrap(), Fetched::default());
    assert_eq!(case.server.requests().len(), 2);
}

#[test]
fn the_published_files_have_the_known_checksums() {
    let Some(data) = published::folder() else { return };
    for dataset in named::all().iter().filter(|dataset| dataset.expected.measured) {
        if published::present(dataset.folder(&data), "download the dataset").is_none() {
            continue;
        }
        let verified = dataset.verify(&data, &mut |_| {}).unwrap();
        assert!(!verified.is_empty());
        for file in verified {
            assert_eq!(file.state, FileState::Ok, "{}/{}", dataset.name, file.name);
        }
        dataset.locate(&data).unwrap();
    }
}
