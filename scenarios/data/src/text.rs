//! Text that is at hand, as token ids: any directory of UTF-8 text, Markdown or HTML.
//!
//! The directory is `<data root>/text` where that exists, else the documentation that comes with the Rust
//! toolchain. Its files (`.html`, `.htm`, `.md`, `.markdown`, `.txt`) are taken in sorted order, folder by
//! folder, up to 64 MiB. Markup is stripped: from HTML the tags, comments, scripts and styles; from Markdown
//! the signs at either end of a word. What whitespace parts is a word, its id is its CRC-32 modulo the
//! vocabulary, and ids are packed into rows without regard to where a file ends. The digest is recorded, not
//! pinned: the text is whatever is there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use weighbridge::{Error, ErrorKind, Result, skip};

use super::{VOCABULARY, root};

/// No more text than this is read.
const LIMIT: u64 = 64 << 20;

/// The first files of the directory, up to the limit.
pub(super) fn find(data_root: Option<&Path>) -> Result<Vec<PathBuf>> {
    let own = data_root.map(|root| root.join("text")).filter(|path| path.is_dir());
    let folder = match own {
        Some(folder) => folder,
        None => rust_documentation()?,
    };
    let mut found = Vec::new();
    let mut size = 0;
    walk(&folder, &mut found, &mut size)?;
    if found.is_empty() {
        return Err(skip(format!("{} holds no text, Markdown or HTML: put some there", folder.display())));
    }
    Ok(found)
}

/// The first rows of token ids.
pub(super) fn read(paths: &[PathBuf], rows: usize, length: usize) -> Result<Vec<u8>> {
    let wanted = rows * length * 4;
    let mut field = Vec::with_capacity(wanted);
    let mut left = LIMIT as usize;
    for path in paths {
        if field.len() >= wanted || left == 0 {
            break;
        }
        let bytes = fs::read(path).map_err(|error| root::unreadable(path, &error))?;
        let text = std::str::from_utf8(&bytes)
            .map_err(|error| Error::new(format!("{} is no UTF-8 text: {error}", path.display())))?;
        let text = &text[..text.floor_char_boundary(left)];
        left -= text.len();
        let stripped = match Markup::of(path) {
            Some(Markup::Html) => &*strip_html(text),
            _ => text,
        };
        let markdown = Markup::of(path) == Some(Markup::Markdown);
        for word in stripped.split_whitespace() {
            let word = if markdown { word.trim_matches(MARKDOWN_SIGNS) } else { word };
            if !word.is_empty() {
                field.extend(token(word, VOCABULARY).to_le_bytes());
            }
        }
    }
    if field.len() < wanted {
        return Err(Error::of(
            ErrorKind::NoData,
            format!(
                "the text holds {} rows of {length} words, but {rows} are asked for: put more into \
                 <root>/text and name <root> with --data-root or WEIGHBRIDGE_DATA_ROOT",
                field.len() / (length * 4)
            ),
        ));
    }
    field.truncate(wanted);
    Ok(field)
}

/// The id of a word in a vocabulary of this size.
pub(super) fn token(word: &str, vocabulary: u32) -> i32 {
    (crc32fast::hash(word.as_bytes()) % vocabulary.max(1)).cast_signed()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Markup {
    Html,
    Markdown,
    None,
}

impl Markup {
    fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "html" | "htm" => Some(Self::Html),
            "md" | "markdown" => Some(Self::Markdown),
            "txt" => Some(Self::None),
            _ => None,
        }
    }
}

/// Text that is not on this machine.
fn no_data(why: &str) -> Error {
    Error::of(ErrorKind::NoData, why)
}

const MARKDOWN_SIGNS: &[char] = &['#', '*', '_', '`', '~', '>', '|', '[', ']', '-', '='];

fn rust_documentation() -> Result<PathBuf> {
    let remedy = "put text, Markdown or HTML into <root>/text and name <root> with --data-root or \
                  WEIGHBRIDGE_DATA_ROOT, or install the Rust documentation with `rustup component add \
                  rust-docs`";
    let output = Command::new("rustc").args(["--print", "sysroot"]).output();
    let sysroot = output.ok().filter(|output| output.status.success());
    let sysroot = sysroot.and_then(|output| String::from_utf8(output.stdout).ok());
    let sysroot =
        sysroot.ok_or_else(|| no_data(&format!("`rustc --print sysroot` names no toolchain: {remedy}")))?;
    let folder = Path::new(sysroot.trim()).join("share/doc/rust/html");
    if folder.is_dir() {
        Ok(folder)
    } else {
        Err(no_data(&format!("{} is absent: {remedy}", folder.display())))
    }
}

/// Gathers text files in sorted order until they are large enough. Links are not followed: they may lead in
/// circles.
fn walk(folder: &Path, found: &mut Vec<PathBuf>, size: &mut u64) -> Result<()> {
    let unreadable = |error| root::unreadable(folder, &error);
    let mut entries: Vec<_> =
        fs::read_dir(folder).map_err(unreadable)?.collect::<Result<_, _>>().map_err(unreadable)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        if *size >= LIMIT {
            break;
        }
        let (path, kind) = (entry.path(), entry.file_type().map_err(unreadable)?);
        if kind.is_dir() {
            walk(&path, found, size)?;
        } else if kind.is_file() && Markup::of(&path).is_some() {
            *size += entry.metadata().map_err(unreadable)?.len();
            found.push(path);
        }
    }
    Ok(())
}

/// The text between the tags. A tag parts words; the five common entities are put back.
fn strip_html(text: &str) -> String {
    let mut out = String::with_capacity(text.len() / 2);
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        out.push_str(&rest[..at]);
        out.push(' ');
        rest = &rest[at..];
        let end = if rest.starts_with("<!--") {
            "-->"
        } else if opens(rest, "script") {
            "</script>"
        } else if opens(rest, "style") {
            "</style>"
        } else {
            ">"
        };
        rest = rest.find(end).map_or("", |at| &rest[at + end.len()..]);
    }
    out.push_str(rest);
    for (entity, sign) in [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")] {
        if out.contains(entity) {
            out = out.replace(entity, sign);
        }
    }
    out
}

fn opens(rest: &str, tag: &str) -> bool {
    let name = rest.as_bytes().get(1..=tag.len());
    let after = rest.as_bytes().get(1 + tag.len());
    name.is_some_and(|name| name.eq_ignore_ascii_case(tag.as_bytes()))
        && after.is_some_and(|&after| after == b'>' || after.is_ascii_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cache, DataSpec, Origin};

    fn open(files: &[(&str, &[u8])], rows: usize, length: usize) -> Result<Vec<i32>> {
        let place = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            let path = place.path().join("text").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        let cache = Cache::at(place.path().join("cache")).with_data_root(place.path());
        let set = cache.open(&DataSpec::tokens(rows, length).read_from(Origin::Text))?;
        Ok(bytemuck::cast_slice(set.rows(0, 0..rows)).to_vec())
    }

    fn ids(words: &str) -> Vec<i32> {
        words.split(' ').map(|word| token(word, VOCABULARY)).collect()
    }

    #[test]
    fn a_word_is_its_crc_modulo_the_vocabulary() {
        // The check value of CRC-32.
        assert_eq!(token("123456789", VOCABULARY), (0xcbf4_3926_u32 % 32_000).cast_signed());
    }

    #[test]
    fn files_are_packed_in_sorted_order_without_markup() {
        let files: [(&str, &[u8]); 5] = [
            ("b.md", b"# Title\n**bold** word"),
            ("a/z.txt", b"first <second>"),
            (
                "c.html",
                b"<p class='x'>one&amp;two<style>no{}</style><br>three<!-- no -->\
                  <script >no</script></p>four",
            ),
            ("d.png", b"no"),
            ("e.txt", b"dropped because no row is left"),
        ];
        let rows = open(&files, 3, 3).unwrap();
        assert_eq!(rows, ids("first <second> Title bold word one&two three four dropped"));
    }

    #[test]
    fn bytes_that_are_no_text_are_named() {
        let error = open(&[("a.txt", b"\xff\xfe")], 1, 1).unwrap_err();
        assert!(!error.is_skip() && error.to_string().contains("a.txt is no UTF-8 text"), "{error}");
    }

    #[test]
    fn too_little_text_is_a_skip_that_says_how_much_there_is() {
        let error = open(&[("a.txt", b"one two three")], 2, 2).unwrap_err();
        assert!(error.is_skip() && error.to_string().contains("holds 1 rows of 2 words, but 2"), "{error}");
    }

    #[test]
    fn an_unclosed_tag_ends_the_text() {
        assert_eq!(strip_html("a <b c"), "a  ");
    }
}
