//! Extracts untrusted zip archives.

use crate::{
    Error, Result,
    atomic::AtomicFile,
    data::named::{File, FileStage, Progress},
};
use std::{
    fs,
    io::{BufReader, Read, Write},
    path::Path,
};
use zip::{ZipArchive, read::ZipFile};

/// Highest accepted compression ratio of an archive. Deflate reaches 1000 on zeros; numeric data stays
/// far below this.
const LARGEST_RATIO: u64 = 100;

/// Highest accepted number of members; each takes a moment to write.
const MOST_MEMBERS: usize = 1000;

type Zip = ZipArchive<BufReader<fs::File>>;

/// A member of the archive that is safe to extract.
struct Member {
    index: usize,
    name: String,
    bytes: u64,
}

/// Extracts the folder of the archive that contains the `needed` files into `folder`. Writes nothing
/// unless the whole archive is acceptable.
pub(super) fn unpack(
    path: &Path,
    folder: &Path,
    needed: &[&File],
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<()> {
    let file = fs::File::open(path).map_err(Error::io(path))?;
    let packed = file.metadata().map_err(Error::io(path))?.len();
    let mut archive = ZipArchive::new(BufReader::new(file)).map_err(|error| broken(path, &error))?;
    let members = members(&mut archive, path, packed)?;
    let wanted = beside(members, needed, path)?;
    for member in &wanted {
        extract(&mut archive, member, path, folder, progress)?;
    }
    Ok(())
}

fn members(archive: &mut Zip, path: &Path, packed: u64) -> Result<Vec<Member>> {
    if archive.len() > MOST_MEMBERS {
        let what = format!("has {} members, more than any published dataset", archive.len());
        return Err(Error::format(path, what));
    }
    let mut members = Vec::new();
    let mut total = 0u64;
    for index in 0..archive.len() {
        let member = archive.by_index_raw(index).map_err(|error| broken(path, &error))?;
        let name = harmless(&member, path)?;
        if !member.is_dir() {
            total = total.saturating_add(member.size());
            members.push(Member { index, name, bytes: member.size() });
        }
    }
    if total / LARGEST_RATIO > packed {
        let what = format!("claims {total} bytes of contents in {packed} bytes, an implausible ratio");
        return Err(Error::format(path, what));
    }
    Ok(members)
}

/// The name of a member, if it stays inside the folder on every operating system.
fn harmless(member: &ZipFile<'_, BufReader<fs::File>>, path: &Path) -> Result<String> {
    let name = member.name().map_err(|error| broken(path, &error))?.into_owned();
    let inside = name.trim_end_matches('/').split('/').all(|part| !matches!(part, "" | "." | ".."));
    let plain = !name.contains(['\\', ':', '\0']);
    if inside && plain && !member.is_symlink() {
        return Ok(name);
    }
    Err(Error::format(
        path,
        format!("member {name:?} would be written outside the folder; nothing was extracted"),
    ))
}

/// The members in the same folder of the archive as the needed files, with names relative to it.
fn beside(members: Vec<Member>, needed: &[&File], path: &Path) -> Result<Vec<Member>> {
    let lacks = |file: &File| Error::format(path, format!("does not contain {}", file.name));
    let Some(first) = needed.first() else { return Ok(members) };
    let prefix = |member: &Member| {
        let prefix = member.name.strip_suffix(&first.name)?;
        (prefix.is_empty() || prefix.ends_with('/')).then(|| prefix.to_owned())
    };
    // The shortest prefix, so that a copy in a subfolder is ignored.
    let prefix = members.iter().filter_map(prefix).min_by_key(String::len).ok_or_else(|| lacks(first))?;
    let inside = |mut member: Member| {
        member.name = member.name.strip_prefix(&prefix)?.to_owned();
        Some(member)
    };
    let wanted: Vec<Member> = members.into_iter().filter_map(inside).collect();
    match needed.iter().find(|file| !wanted.iter().any(|member| member.name == file.name)) {
        Some(file) => Err(lacks(file)),
        None => Ok(wanted),
    }
}

fn extract(
    archive: &mut Zip,
    member: &Member,
    path: &Path,
    folder: &Path,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<()> {
    let source = archive.by_index(member.index).map_err(|error| broken(path, &error))?;
    let mut source = source.take(member.bytes.saturating_add(1));
    let mut out = AtomicFile::create(folder.join(&member.name))?;
    let mut buffer = vec![0; 1 << 17];
    let mut done = 0;
    loop {
        let read = source.read(&mut buffer).map_err(|error| broken(path, &error))?;
        if read == 0 {
            break;
        }
        done += read as u64;
        out.write_all(&buffer[..read]).map_err(Error::io(out.path()))?;
        let total = Some(member.bytes);
        progress(Progress { file: &member.name, stage: FileStage::Unpack, done, total });
    }
    if done != member.bytes {
        let what = format!("member {} does not have the {} bytes it claims", member.name, member.bytes);
        return Err(Error::format(path, what));
    }
    out.commit()
}

fn broken(path: &Path, error: &dyn std::fmt::Display) -> Error {
    let what = format!("cannot be extracted: {error}; delete it to download it again");
    Error::format(path, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use zip::{ZipWriter, write::SimpleFileOptions};

    fn needed(name: &str) -> File {
        File { name: name.into(), url: None, bytes: None, sha256: None, optional: false }
    }

    /// Writes the archive, extracts it into `out`, and returns the sorted paths of the result.
    fn unpacked(archive: &[u8], wanted: &[&str]) -> Result<Vec<String>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.zip");
        fs::write(&path, archive).unwrap();
        let wanted: Vec<File> = wanted.iter().map(|name| needed(name)).collect();
        let wanted: Vec<&File> = wanted.iter().collect();
        let out = folder.path().join("out");
        let result = unpack(&path, &out, &wanted, &mut |_| {});
        let mut found = Vec::new();
        let mut open = vec![folder.path().to_owned()];
        while let Some(next) = open.pop() {
            for entry in fs::read_dir(&next).unwrap() {
                let entry = entry.unwrap().path();
                match entry.is_dir() {
                    true => open.push(entry),
                    false => found.push(entry.strip_prefix(folder.path()).unwrap().display().to_string()),
                }
            }
        }
        found.retain(|name| name != "a.zip");
        found.sort();
        if result.is_err() {
            assert_eq!(found, Vec::<String>::new(), "a refused archive leaves nothing");
        }
        result.map(|()| found)
    }

    fn packed(members: &[(&str, &[u8])]) -> Vec<u8> {
        let mut writer = ZipWriter::new(std::io::Cursor::new(Vec::new()));
        for (name, bytes) in members {
            writer.start_file(*name, SimpleFileOptions::default()).unwrap();
            writer.write_all(bytes).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    #[test]
    fn the_folder_inside_the_archive_is_stripped() {
        let archive = packed(&[("arxiv/raw/edge.csv.gz", b"1"), ("arxiv/note", b"2"), ("__MACOSX/x", b"3")]);
        assert_eq!(unpacked(&archive, &["raw/edge.csv.gz"]).unwrap(), ["out/note", "out/raw/edge.csv.gz"]);
        let flat = packed(&[("role.json", b"{}"), ("old/role.json", b"{}")]);
        assert_eq!(unpacked(&flat, &["role.json"]).unwrap(), ["out/old/role.json", "out/role.json"]);
    }

    #[test]
    fn an_archive_without_the_needed_files_is_refused() {
        let archive = packed(&[("arxiv/raw/edge.csv.gz", b"1"), ("arxiv/xraw/feat", b"")]);
        let error = unpacked(&archive, &["raw/edge.csv.gz", "raw/feat"]).unwrap_err();
        assert!(error.to_string().contains("does not contain raw/feat"), "{error}");
        assert!(unpacked(&archive, &["feat.gz"]).is_err());
        assert!(
            unpacked(b"no archive", &["a"])
                .unwrap_err()
                .to_string()
                .contains("delete it to download it again")
        );
    }

    #[test]
    fn members_that_lead_outside_are_refused() {
        for name in ["../evil", "a/../../evil", "/evil", "a\\..\\evil", "C:evil", "a//evil"] {
            // Written under a harmless name of the same length and renamed in the raw bytes, as a writer may
            // refuse or change such names.
            let tame = "x".repeat(name.len());
            let mut archive = packed(&[("good", b"1"), (&tame, b"2")]);
            let places: Vec<usize> = (0..archive.len() - tame.len())
                .filter(|&at| archive[at..].starts_with(tame.as_bytes()))
                .collect();
            assert_eq!(places.len(), 2, "in the member's header and in the directory");
            places.iter().for_each(|&at| archive[at..at + name.len()].copy_from_slice(name.as_bytes()));
            let error = unpacked(&archive, &["good"]).unwrap_err();
            assert!(error.to_string().contains("outside the folder"), "{name}: {error}");
        }
    }

    #[test]
    fn links_are_refused() {
        let mut writer = ZipWriter::new(std::io::Cursor::new(Vec::new()));
        writer.add_symlink("good", "/etc/passwd", SimpleFileOptions::default()).unwrap();
        let archive = writer.finish().unwrap().into_inner();
        assert!(unpacked(&archive, &["good"]).unwrap_err().to_string().contains("outside the folder"));
    }

    #[test]
    fn too_many_members_are_refused() {
        let names: Vec<String> = (0..1001).map(|number| format!("file{number}")).collect();
        let members: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &b"1"[..])).collect();
        let error = unpacked(&packed(&members), &["file0"]).unwrap_err();
        assert!(error.to_string().contains("1001 members"), "{error}");
    }

    #[test]
    fn zip_bombs_and_wrong_sizes_are_refused() {
        let bomb = packed(&[("good", &vec![0; 1 << 20])]);
        assert!(unpacked(&bomb, &["good"]).unwrap_err().to_string().contains("implausible ratio"));
        let honest = packed(&[("good", b"twelve bytes")]);
        assert_eq!(unpacked(&honest, &["good"]).unwrap(), ["out/good"]);
        let mut lying = honest;
        let entry = lying.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
        // The uncompressed size is at offset 24 of the directory entry.
        assert_eq!(lying[entry + 24], 12);
        lying[entry + 24] = 5;
        assert!(unpacked(&lying, &["good"]).is_err());
    }
}
