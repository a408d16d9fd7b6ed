//! A small HTTP server with scripted misbehaviour, one answer per request.

use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

/// What the server does with a request. The last answer of a script is repeated.
#[derive(Clone)]
pub(crate) enum Answer {
    /// Correct, with support for ranges and If-Range.
    Honest,
    /// Correct, but the connection is closed after so many bytes of the body.
    Cut(usize),
    /// Correct, but nothing follows after so many bytes of the body.
    Stall(usize),
    /// Correct, but in small pieces with pauses.
    Slow,
    /// The whole file, whatever range was requested.
    NoRanges,
    /// Only a status.
    Status(u16),
    /// The connection is accepted, but there is no response.
    Silence,
    /// A body without Content-Length, which ends with the connection.
    Unsized(Vec<u8>),
    /// The file gets new contents and a new ETag; then like `Honest`.
    Change { body: Vec<u8>, weak: bool },
}

#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) path: String,
    headers: HashMap<String, String>,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    fn read(stream: &TcpStream) -> Option<Self> {
        let mut lines = BufReader::new(stream).lines();
        let path = lines.next()?.ok()?.split(' ').nth(1)?.to_owned();
        let mut headers = HashMap::new();
        for line in lines {
            let line = line.ok()?;
            let Some((name, value)) = line.split_once(": ") else { break };
            headers.insert(name.to_ascii_lowercase(), value.to_owned());
        }
        Some(Self { path, headers })
    }

    /// The first requested byte, unless If-Range names another version.
    fn start(&self, etag: &str) -> Option<usize> {
        if self.header("if-range").is_some_and(|version| version != etag) {
            return None;
        }
        self.header("range")?.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok()
    }
}

struct State {
    files: HashMap<String, Vec<u8>>,
    etag: String,
    answers: Vec<Answer>,
    requests: Vec<Request>,
    sent: usize,
}

/// The server; its thread ends with the test program.
pub(crate) struct Server {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

impl Server {
    pub(crate) fn start(files: &[(&str, &[u8])], answers: Vec<Answer>) -> Self {
        let files = files.iter().map(|&(path, body)| (path.to_owned(), body.to_owned())).collect();
        let state = State { files, etag: "\"v1\"".into(), answers, requests: Vec::new(), sent: 0 };
        let state = Arc::new(Mutex::new(state));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self { address: listener.local_addr().unwrap(), state: state.clone() };
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = state.clone();
                thread::spawn(move || serve(stream, &state));
            }
        });
        server
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.state.lock().unwrap().requests.clone()
    }

    /// Number of bytes of bodies sent.
    pub(crate) fn sent(&self) -> usize {
        self.state.lock().unwrap().sent
    }

    pub(crate) fn set_etag(&self, etag: &str) {
        self.state.lock().unwrap().etag = etag.into();
    }
}

fn serve(mut stream: TcpStream, state: &Mutex<State>) {
    let Some(request) = Request::read(&stream) else { return };
    let mut state = state.lock().unwrap();
    let last = state.answers.len() - 1;
    let answer = state.answers[state.requests.len().min(last)].clone();
    state.requests.push(request.clone());
    if let Answer::Change { body, weak } = &answer {
        state.etag = if *weak { "W/\"v2\"" } else { "\"v2\"" }.into();
        state.files.insert(request.path.clone(), body.clone());
    }
    let etag = state.etag.clone();
    let found = state.files.get(&request.path).cloned();
    let (head, body) = match (&answer, found) {
        (Answer::Silence, _) => return hang(state, &stream),
        (Answer::Status(status), _) => (format!("{status} Sorry\r\nContent-Length: 0"), Vec::new()),
        (Answer::Unsized(body), _) => ("200 OK".into(), body.clone()),
        (_, None) => ("404 Not Found\r\nContent-Length: 0".into(), Vec::new()),
        (Answer::NoRanges, Some(body)) => whole(body),
        (_, Some(body)) => match request.start(&etag) {
            None => whole(body),
            Some(start) => part(&body, start),
        },
    };
    let etag = if etag.is_empty() { etag } else { format!("ETag: {etag}\r\n") };
    let head = format!("HTTP/1.1 {head}\r\n{etag}Connection: close\r\n\r\n");
    let upto = match answer {
        Answer::Cut(most) | Answer::Stall(most) => body.len().min(most),
        _ => body.len(),
    };
    state.sent += upto;
    // The client may have disconnected by now, as it should in some of the tests.
    let _ = stream.write_all(head.as_bytes());
    match answer {
        Answer::Slow => body.chunks(4).for_each(|piece| {
            let _ = stream.write_all(piece);
            thread::sleep(Duration::from_millis(60));
        }),
        _ => drop(stream.write_all(&body[..upto])),
    }
    if matches!(answer, Answer::Stall(_)) {
        hang(state, &stream);
    }
}

fn whole(body: Vec<u8>) -> (String, Vec<u8>) {
    (format!("200 OK\r\nContent-Length: {}", body.len()), body)
}

fn part(body: &[u8], start: usize) -> (String, Vec<u8>) {
    let size = body.len();
    if start >= size {
        return (format!("416 No\r\nContent-Range: bytes */{size}\r\nContent-Length: 0"), Vec::new());
    }
    let (last, length) = (size - 1, size - start);
    let head =
        format!("206 Partial\r\nContent-Range: bytes {start}-{last}/{size}\r\nContent-Length: {length}");
    (head, body[start..].to_vec())
}

/// Keeps the connection open, but not the lock, for longer than any test waits.
fn hang(state: std::sync::MutexGuard<'_, State>, _stream: &TcpStream) {
    drop(state);
    thread::sleep(Duration::from_secs(20));
}
