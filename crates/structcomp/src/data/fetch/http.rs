//! Downloads a file over HTTP: with resumption and retries, verified before it gets its name.

use super::FetchOptions;
use crate::memory::human_bytes;
use crate::{
    Error, Result,
    data::named::{File, FileStage, Progress, hash_file},
};
use std::{
    ffi::OsString,
    fs,
    io::{self, Read, Write},
    path::{Path, PathBuf},
    thread,
    time::Instant,
};
use ureq::{Agent, Body, http::Response};

/// Downloads `file` to `target`; returns its size and SHA-256.
///
/// Data received so far is in `NAME.part`, and its ETag in `NAME.part.etag`. Both are kept for the next
/// run if this one fails.
pub(super) fn download(
    file: &File,
    target: &Path,
    options: &FetchOptions,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<(u64, String)> {
    let url = address(file, options)?;
    let agent = agent(&url, options);
    let mut transfer = Transfer { file, url, agent, partial: Partial::beside(target), options, progress };
    transfer.run()?;
    let sha256 = transfer.check()?;
    let bytes = transfer.partial.length();
    transfer.partial.become_file(target)?;
    Ok((bytes, sha256))
}

fn address(file: &File, options: &FetchOptions) -> Result<String> {
    let url = file.url.as_deref().unwrap_or_default();
    let Some((scheme, rest)) = url.split_once("://") else {
        return Err(Error::Input(format!("{} has no URL", file.name)));
    };
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    Ok(match &options.base_url {
        Some(base) => format!("{}/{path}", base.trim_end_matches('/')),
        None => format!("{scheme}://{host}/{path}"),
    })
}

fn agent(url: &str, options: &FetchOptions) -> Agent {
    Agent::config_builder()
        .user_agent(concat!("structcomp/", env!("CARGO_PKG_VERSION")))
        // Sizes, ranges and checksums refer to the file as published.
        .accept_encoding("identity")
        .http_status_as_error(false)
        // A redirect must not lead from HTTPS to HTTP, as not every file has a known checksum.
        .https_only(url.starts_with("https://"))
        .timeout_resolve(Some(options.connect_timeout))
        .timeout_connect(Some(options.connect_timeout))
        .timeout_recv_response(Some(options.connect_timeout.max(options.stall_timeout)))
        .timeout_per_read(Some(options.stall_timeout))
        .build()
        .new_agent()
}

struct Transfer<'a> {
    file: &'a File,
    url: String,
    agent: Agent,
    partial: Partial,
    options: &'a FetchOptions,
    progress: &'a mut dyn FnMut(Progress<'_>),
}

/// Why an attempt ended early.
enum Broken {
    /// Retrying may help.
    Passing(String),
    /// The same, but what was received does not count as progress.
    Slow(String),
    /// Retrying does not help.
    Final(Error),
}

impl From<Error> for Broken {
    fn from(error: Error) -> Self {
        Self::Final(error)
    }
}

impl Transfer<'_> {
    /// Retries until the file is complete. Only attempts without progress count, so that a large file
    /// survives any number of interruptions.
    fn run(&mut self) -> Result<()> {
        let options = self.options;
        let mut reached = self.partial.length();
        let mut idle = 0;
        loop {
            let (what, slow) = match self.attempt() {
                Ok(()) => return Ok(()),
                Err(Broken::Final(error)) => return Err(error),
                Err(Broken::Passing(what)) => (what, false),
                Err(Broken::Slow(what)) => (what, true),
            };
            let length = self.partial.length();
            idle = if length > reached && !slow { 0 } else { idle + 1 };
            reached = reached.max(length);
            if idle > options.retries {
                return Err(self.failed(format!("{what} ({idle} attempts without progress)")));
            }
            thread::sleep(options.pause.saturating_mul(1 << idle.saturating_sub(1).min(6)));
        }
    }

    fn attempt(&mut self) -> Result<(), Broken> {
        let have = self.usable()?;
        if have > 0 && Some(have) == self.file.bytes {
            return Ok(());
        }
        let response = self.request(have)?;
        let start = match response.status().as_u16() {
            200 => 0,
            206 => self.accept_range(&response, have)?,
            416 if have > 0 && is_end(&response, have) => return Ok(()),
            416 => return Err(self.start_over("the server has no such range")?),
            status => return Err(self.refused(status)),
        };
        let total = response.body().content_length().and_then(|length| length.checked_add(start));
        self.check_size(total)?;
        let out = match start {
            0 => self.partial.create(header(&response, "etag"))?,
            _ => self.partial.append()?,
        };
        self.receive(response.into_body(), out, start, total)
    }

    /// Number of bytes of an earlier attempt that can be resumed. Without a known checksum, only the ETag
    /// tells whether the file is still the same.
    fn usable(&self) -> Result<u64> {
        let have = self.partial.length();
        let checkable = self.file.sha256.is_some() || self.partial.etag().is_some();
        if checkable && self.file.bytes.is_none_or(|bytes| have <= bytes) {
            return Ok(have);
        }
        self.partial.remove()?;
        Ok(0)
    }

    fn request(&self, have: u64) -> Result<Response<Body>, Broken> {
        let mut request = self.agent.get(&self.url);
        if have > 0 {
            request = request.header("Range", format!("bytes={have}-"));
            // If-Range takes only strong validators; a weak one is compared in the response.
            if let Some(etag) = self.partial.etag().filter(|etag| !etag.starts_with("W/")) {
                request = request.header("If-Range", etag);
            }
        }
        request.call().map_err(|error| match error {
            ureq::Error::Timeout(_) | ureq::Error::Protocol(_) => Broken::Passing(error.to_string()),
            ureq::Error::Io(ref io) if io.kind() != io::ErrorKind::ConnectionRefused => {
                Broken::Passing(error.to_string())
            }
            _ => Broken::Final(self.failed(error.to_string())),
        })
    }

    /// Checks that a partial response continues the existing data; returns its start.
    fn accept_range(&self, response: &Response<Body>, have: u64) -> Result<u64, Broken> {
        let range = header(response, "content-range").unwrap_or_default();
        let starts_here = range.starts_with(&format!("bytes {have}-"));
        let same = match (self.partial.etag(), header(response, "etag")) {
            (Some(before), Some(now)) => before == now,
            _ => true,
        };
        if have > 0 && starts_here && same {
            return Ok(have);
        }
        let what = if same { "the server sent a different range" } else { "the file changed on the server" };
        Err(self.start_over(what)?)
    }

    /// Discards the data so far, so that the next attempt requests the whole file.
    fn start_over(&self, what: &str) -> Result<Broken> {
        self.partial.remove()?;
        Ok(Broken::Passing(what.to_owned()))
    }

    fn refused(&self, status: u16) -> Broken {
        let what = format!("the server answered with status {status}");
        match status {
            408 | 429 | 500..=599 => Broken::Passing(what),
            _ => Broken::Final(self.failed(what)),
        }
    }

    fn check_size(&self, total: Option<u64>) -> Result<(), Broken> {
        match (self.file.bytes, total) {
            (Some(expected), Some(total)) if expected != total => {
                self.partial.remove()?;
                Err(Broken::Final(self.failed(format!("the server has {total} bytes, expected {expected}"))))
            }
            _ => Ok(()),
        }
    }

    fn receive(
        &mut self,
        body: Body,
        mut out: fs::File,
        start: u64,
        total: Option<u64>,
    ) -> Result<(), Broken> {
        let total = total.or(self.file.bytes);
        let most = total.unwrap_or(self.options.most_bytes);
        let (mut body, mut done) = (body.into_reader(), start);
        let mut buffer = vec![0; 1 << 17];
        let mut pace = Pace { since: Instant::now(), bytes: 0 };
        loop {
            let read = match body.read(&mut buffer) {
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(Broken::Passing(cut_off(done, total, &error.to_string()))),
            };
            if read == 0 {
                break;
            }
            done += read as u64;
            if done > most {
                self.partial.remove()?;
                return Err(Broken::Final(self.failed(format!("the server sent more than {most} bytes"))));
            }
            out.write_all(&buffer[..read]).map_err(Error::io(&self.partial.path))?;
            (self.progress)(Progress { file: &self.file.name, stage: FileStage::Download, done, total });
            if !pace.keeps_up(read as u64, self.options) {
                return Err(Broken::Slow(cut_off(done, total, "the transfer is too slow")));
            }
        }
        if total.is_some_and(|total| done < total) {
            return Err(Broken::Passing(cut_off(done, total, "the connection ended early")));
        }
        out.sync_all().map_err(Error::io(&self.partial.path))?;
        Ok(())
    }

    /// Verifies the complete file; a wrong one is deleted.
    fn check(&mut self) -> Result<String> {
        let found = hash_file(&self.partial.path, &self.file.name, self.progress)?;
        match &self.file.sha256 {
            Some(expected) if *expected != found => {
                self.partial.remove()?;
                Err(self.failed(format!("the download has SHA-256 {found}, expected {expected}")))
            }
            _ => Ok(found),
        }
    }

    fn failed(&self, what: String) -> Error {
        Error::Download { url: self.url.clone(), what }
    }
}

fn cut_off(done: u64, total: Option<u64>, what: &str) -> String {
    let of = total.map(|total| format!(" of {}", human_bytes(total))).unwrap_or_default();
    format!("interrupted after {}{of}: {what}", human_bytes(done))
}

/// How much has arrived since the last stall timeout.
struct Pace {
    since: Instant,
    bytes: u64,
}

impl Pace {
    fn keeps_up(&mut self, more: u64, options: &FetchOptions) -> bool {
        self.bytes += more;
        let passed = self.since.elapsed();
        if passed < options.stall_timeout {
            return true;
        }
        let enough = self.bytes as f64 >= options.least_rate as f64 * passed.as_secs_f64();
        *self = Self { since: Instant::now(), bytes: 0 };
        enough
    }
}

/// Whether a rejected range starts at the end of the file, so that nothing is missing.
fn is_end(response: &Response<Body>, have: u64) -> bool {
    header(response, "content-range").is_some_and(|range| range == format!("bytes */{have}"))
}

fn header(response: &Response<Body>, name: &str) -> Option<String> {
    response.headers().get(name)?.to_str().ok().map(str::to_owned)
}

/// A partial download: the data so far and its ETag.
struct Partial {
    path: PathBuf,
    etag: PathBuf,
}

impl Partial {
    fn beside(target: &Path) -> Self {
        let with = |ending: &str| {
            let mut name = OsString::from(target);
            name.push(ending);
            PathBuf::from(name)
        };
        Self { path: with(".part"), etag: with(".part.etag") }
    }

    fn length(&self) -> u64 {
        fs::metadata(&self.path).map_or(0, |metadata| metadata.len())
    }

    fn etag(&self) -> Option<String> {
        let etag = fs::read_to_string(&self.etag).ok()?;
        Some(etag).filter(|etag| !etag.is_empty() && etag.bytes().all(|byte| byte.is_ascii_graphic()))
    }

    /// Starts over. The old data is deleted before the new ETag is written, which must never refer to it.
    fn create(&self, etag: Option<String>) -> Result<fs::File> {
        self.remove()?;
        let file = fs::File::create(&self.path).map_err(Error::io(&self.path))?;
        if let Some(etag) = etag {
            fs::write(&self.etag, etag).map_err(Error::io(&self.etag))?;
        }
        Ok(file)
    }

    fn append(&self) -> Result<fs::File> {
        fs::OpenOptions::new().append(true).open(&self.path).map_err(Error::io(&self.path))
    }

    fn remove(&self) -> Result<()> {
        for path in [&self.path, &self.etag] {
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(Error::io(path)(error)),
                _ => {}
            }
        }
        Ok(())
    }

    fn become_file(&self, target: &Path) -> Result<()> {
        fs::rename(&self.path, target).map_err(Error::io(target))?;
        self.remove()
    }
}
