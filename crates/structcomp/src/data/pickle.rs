//! A reader for the pickle instructions that Planetoid files use.
//!
//! A pickle is a program. This reader supports only the instructions that build plain values, and only
//! the six names that stand for an array, a sparse matrix or a dictionary. It records calls and never
//! makes them.
//!
//! Values are stored in one table and refer to each other by index. Shared and cyclic values cost
//! nothing extra, and neither reading nor freeing them recurses, however deeply they nest.

use crate::{Budget, Error, Result};
use std::{collections::HashMap, path::Path};

/// A value; composite values are indices into the table of the pickle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value<'a> {
    None,
    Bool(bool),
    Int(i64),
    Bytes(&'a [u8]),
    Global(Global),
    Node(u32),
}

/// The names that a Planetoid pickle may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Global {
    CsrMatrix,
    Reconstruct,
    Ndarray,
    Dtype,
    DefaultDict,
    List,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueKind {
    Tuple,
    List,
    /// `items` alternates keys and values.
    Dict,
    /// The result of calling the global with `args`.
    Object(Global),
}

/// A composite value.
#[derive(Debug)]
pub(crate) struct Node<'a> {
    pub(crate) kind: ValueKind,
    pub(crate) items: Vec<Value<'a>>,
    pub(crate) args: Value<'a>,
    pub(crate) state: Value<'a>,
}

/// All values of a file.
pub(crate) struct Pickle<'a> {
    nodes: Vec<Node<'a>>,
    pub(crate) root: Value<'a>,
}

impl<'a> Pickle<'a> {
    /// Reads a pickle. `path` is used in messages.
    pub(crate) fn read(bytes: &'a [u8], path: &Path, budget: &Budget) -> Result<Self> {
        let (nodes, stack, marks) = (Vec::new(), Vec::new(), Vec::new());
        let mut reader =
            Reader { bytes, at: 0, path, budget, spent: 0, nodes, stack, marks, memo: HashMap::new() };
        let root = reader.run()?;
        Ok(Self { nodes: reader.nodes, root })
    }

    /// The contents of a composite value.
    pub(crate) fn node(&self, value: Value) -> Option<&Node<'a>> {
        match value {
            Value::Node(place) => self.nodes.get(place as usize),
            _ => None,
        }
    }

    pub(crate) fn tuple(&self, value: Value) -> Option<&[Value<'a>]> {
        self.node(value).filter(|node| node.kind == ValueKind::Tuple).map(|node| &node.items[..])
    }

    /// Looks up a key of a dictionary.
    pub(crate) fn field(&self, dict: Value, name: &str) -> Option<Value<'a>> {
        let dict = self.node(dict).filter(|node| node.kind == ValueKind::Dict)?;
        let (pairs, _) = dict.items.as_chunks::<2>();
        // As in Python, the last of equal keys wins.
        pairs.iter().rev().find(|[key, _]| *key == Value::Bytes(name.as_bytes())).map(|&[_, value]| value)
    }
}

struct Reader<'a, 'b> {
    bytes: &'a [u8],
    at: usize,
    path: &'b Path,
    budget: &'b Budget,
    /// Memory of the values so far, in bytes.
    spent: u64,
    nodes: Vec<Node<'a>>,
    stack: Vec<Value<'a>>,
    /// Height of the stack at each open MARK.
    marks: Vec<usize>,
    memo: HashMap<u32, Value<'a>>,
}

impl<'a> Reader<'a, '_> {
    fn run(&mut self) -> Result<Value<'a>> {
        loop {
            let start = self.at;
            let [opcode] = self.take()?;
            match opcode {
                0x80 => self.protocol()?,
                b'c' => self.global()?,
                b'q' => self.memoize(Self::one_byte)?,
                b'r' => self.memoize(Self::four_bytes)?,
                b'h' => self.recall(start)?,
                b'(' => self.mark()?,
                b')' => self.push_node(ValueKind::Tuple, Vec::new())?,
                b'}' => self.push_node(ValueKind::Dict, Vec::new())?,
                b']' => self.push_node(ValueKind::List, Vec::new())?,
                0x81 | b'R' => self.call(start)?,
                b'b' => self.set_state(start)?,
                b'U' => self.string(Self::one_byte)?,
                b'T' => self.string(Self::four_bytes)?,
                b'J' => self.four_bytes().and_then(|n| self.push(Value::Int(n as i32 as i64)))?,
                b'K' => self.one_byte().and_then(|n| self.push(Value::Int(n as i64)))?,
                b'M' => self.take().and_then(|n| self.push(Value::Int(u16::from_le_bytes(n) as i64)))?,
                b't' => {
                    let items = self.popped_to_mark(start)?;
                    self.push_node(ValueKind::Tuple, items)?
                }
                0x85..=0x87 => self.short_tuple((opcode - 0x84) as usize, start)?,
                b'N' => self.push(Value::None)?,
                0x88 => self.push(Value::Bool(true))?,
                0x89 => self.push(Value::Bool(false))?,
                b'u' => self.set_items(start)?,
                b'a' => self.append(start)?,
                b'e' => self.extend(start)?,
                b'.' => return self.stop(start),
                other => {
                    let what = format!(
                        "has the pickle instruction {other:#04x} ({}) at byte {start}, which is not supported",
                        other.escape_ascii()
                    );
                    return Err(Error::format(self.path, what));
                }
            }
        }
    }

    fn stop(&mut self, at: usize) -> Result<Value<'a>> {
        match (&self.stack[..], &self.marks[..]) {
            (&[root], []) => Ok(root),
            _ => Err(self.wrong(at, "it does not end with one value")),
        }
    }

    fn wrong(&self, at: usize, what: &str) -> Error {
        Error::format(self.path, format!("is not a valid pickle at byte {at}: {what}"))
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let taken = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk()).copied();
        self.at += N;
        taken.ok_or_else(|| Error::format(self.path, "is truncated: the pickle has no end"))
    }

    fn one_byte(&mut self) -> Result<u32> {
        self.take().map(|[byte]| byte as u32)
    }

    fn four_bytes(&mut self) -> Result<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn protocol(&mut self) -> Result<()> {
        match self.one_byte()? {
            0..=2 => Ok(()),
            version => Err(Error::format(
                self.path,
                format!("has pickle protocol {version}; expected 2 for a Planetoid file"),
            )),
        }
    }

    fn line(&mut self) -> Result<&'a [u8]> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let end = memchr::memchr(b'\n', rest)
            .ok_or_else(|| Error::format(self.path, "is truncated: the pickle has no end"))?;
        self.at += end + 1;
        Ok(&rest[..end])
    }

    fn global(&mut self) -> Result<()> {
        let start = self.at - 1;
        let (module, name) = (self.line()?, self.line()?);
        let global = match (module, name) {
            (b"scipy.sparse.csr", b"csr_matrix") => Global::CsrMatrix,
            (b"numpy.core.multiarray", b"_reconstruct") => Global::Reconstruct,
            (b"numpy", b"ndarray") => Global::Ndarray,
            (b"numpy", b"dtype") => Global::Dtype,
            (b"collections", b"defaultdict") => Global::DefaultDict,
            (b"__builtin__", b"list") => Global::List,
            _ => {
                let what = format!(
                    "refers to {}.{} at byte {start}, which is not allowed; nothing was executed",
                    shown(module),
                    shown(name)
                );
                return Err(Error::format(self.path, what));
            }
        };
        self.push(Value::Global(global))
    }

    /// A value takes at least one byte in the file, but more in memory.
    fn spend(&mut self, bytes: usize) -> Result<()> {
        self.spent = self.spent.saturating_add(bytes as u64);
        self.budget.check("the values of a pickle", self.spent)
    }

    fn push(&mut self, value: Value<'a>) -> Result<()> {
        self.spend(size_of::<Value>())?;
        self.stack.push(value);
        Ok(())
    }

    fn push_node(&mut self, kind: ValueKind, items: Vec<Value<'a>>) -> Result<()> {
        self.push_object(Node { kind, items, args: Value::None, state: Value::None })
    }

    fn push_object(&mut self, node: Node<'a>) -> Result<()> {
        self.spend(size_of::<Node>())?;
        let place = u32::try_from(self.nodes.len()).map_err(|_| self.wrong(self.at, "too many values"))?;
        self.nodes.push(node);
        self.push(Value::Node(place))
    }

    /// Start of the values that belong to the innermost open MARK.
    fn floor(&self) -> usize {
        self.marks.last().copied().unwrap_or(0)
    }

    fn pop(&mut self, at: usize) -> Result<Value<'a>> {
        match self.stack.len() > self.floor() {
            true => self.stack.pop().ok_or_else(|| self.wrong(at, "a value is missing")),
            false => Err(self.wrong(at, "a value is missing")),
        }
    }

    fn top(&self, at: usize) -> Result<Value<'a>> {
        let top = self.stack[self.floor()..].last().copied();
        top.ok_or_else(|| self.wrong(at, "a value is missing"))
    }

    fn mark(&mut self) -> Result<()> {
        self.spend(size_of::<usize>())?;
        self.marks.push(self.stack.len());
        Ok(())
    }

    fn popped_to_mark(&mut self, at: usize) -> Result<Vec<Value<'a>>> {
        let mark = self.marks.pop().ok_or_else(|| self.wrong(at, "no mark is open"))?;
        Ok(self.stack.split_off(mark))
    }

    fn memoize(&mut self, key: fn(&mut Self) -> Result<u32>) -> Result<()> {
        let start = self.at - 1;
        let key = key(self)?;
        let value = self.top(start)?;
        // A table entry takes about twice the size of its contents.
        self.spend(2 * size_of::<(u32, Value)>())?;
        self.memo.insert(key, value);
        Ok(())
    }

    fn recall(&mut self, at: usize) -> Result<()> {
        let key = self.one_byte()?;
        let value = self.memo.get(&key).copied();
        self.push(value.ok_or_else(|| self.wrong(at, "it recalls a value that was never stored"))?)
    }

    fn string(&mut self, length: fn(&mut Self) -> Result<u32>) -> Result<()> {
        let length = length(self)? as usize;
        let bytes = self.bytes.get(self.at..).and_then(|rest| rest.get(..length)).ok_or_else(|| {
            let left = self.bytes.len().saturating_sub(self.at);
            Error::format(
                self.path,
                format!("declares {length} bytes at byte {}, but {left} follow", self.at),
            )
        })?;
        self.at += length;
        self.push(Value::Bytes(bytes))
    }

    fn short_tuple(&mut self, length: usize, at: usize) -> Result<()> {
        if self.stack.len() - self.floor() < length {
            return Err(self.wrong(at, "a value is missing"));
        }
        let items = self.stack.split_off(self.stack.len() - length);
        self.push_node(ValueKind::Tuple, items)
    }

    fn call(&mut self, at: usize) -> Result<()> {
        let (args, callee) = (self.pop(at)?, self.pop(at)?);
        let Value::Global(global) = callee else {
            return Err(self.wrong(at, "the callee is not a name"));
        };
        self.push_object(Node {
            kind: ValueKind::Object(global),
            items: Vec::new(),
            args,
            state: Value::None,
        })
    }

    fn top_node(&mut self, at: usize) -> Result<&mut Node<'a>> {
        match self.top(at)? {
            Value::Node(place) => Ok(&mut self.nodes[place as usize]),
            _ => Err(self.wrong(at, "expected a list, a dictionary or an object")),
        }
    }

    fn set_state(&mut self, at: usize) -> Result<()> {
        let state = self.pop(at)?;
        self.top_node(at)?.state = state;
        Ok(())
    }

    fn set_items(&mut self, at: usize) -> Result<()> {
        let items = self.popped_to_mark(at)?;
        let holds_pairs =
            matches!(self.top_node(at)?.kind, ValueKind::Dict | ValueKind::Object(Global::DefaultDict));
        if !holds_pairs || items.len() % 2 == 1 {
            return Err(self.wrong(at, "expected a dictionary and pairs of keys and values"));
        }
        self.top_node(at)?.items.extend(items);
        Ok(())
    }

    fn append(&mut self, at: usize) -> Result<()> {
        let item = self.pop(at)?;
        self.extend_top_list(&[item], at)
    }

    fn extend(&mut self, at: usize) -> Result<()> {
        let items = self.popped_to_mark(at)?;
        self.extend_top_list(&items, at)
    }

    fn extend_top_list(&mut self, items: &[Value<'a>], at: usize) -> Result<()> {
        if self.top_node(at)?.kind != ValueKind::List {
            return Err(self.wrong(at, "expected a list"));
        }
        self.top_node(at)?.items.extend(items);
        Ok(())
    }
}

/// A name from the file, safe to print.
fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(80)]).escape_debug().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<Pickle<'_>> {
        Pickle::read(bytes, Path::new("ind.x.graph"), &Budget::default())
    }

    fn message(bytes: &[u8]) -> String {
        read(bytes).err().map(|error| error.to_string()).unwrap_or_default()
    }

    // The output of Python 2 for pickle.dumps({"a": [1, -2, 300, None, True]}, 2).
    const PLAIN: &[u8] = b"\x80\x02}q\x00U\x01aq\x01]q\x02(K\x01J\xfe\xff\xff\xffM,\x01N\x88es.";

    #[test]
    fn plain_values_come_out_as_they_were() {
        let with_mark = [&PLAIN[..4], b"\x00(", &PLAIN[5..PLAIN.len() - 2], b"u."].concat();
        let pickle = read(&with_mark).unwrap();
        let list = pickle.field(pickle.root, "a").unwrap();
        let node = pickle.node(list).unwrap();
        let expected = [Value::Int(1), Value::Int(-2), Value::Int(300), Value::None, Value::Bool(true)];
        assert_eq!((node.kind, &node.items[..]), (ValueKind::List, &expected[..]));
        assert_eq!(pickle.field(pickle.root, "b"), None);
        for length in 0..with_mark.len() {
            assert!(read(&with_mark[..length]).is_err(), "cut to {length}");
        }
    }

    #[test]
    fn other_names_are_refused_and_nothing_is_executed() {
        let error = message(b"cos\nsystem\n(U\x09rm -rf /ttR.");
        assert_eq!(
            error,
            "ind.x.graph: refers to os.system at byte 0, which is not allowed; nothing was executed"
        );
        assert!(message(b"\x80\x02c__builtin__\neval\n.").contains("__builtin__.eval at byte 2"));
        assert!(message(b"cnumpy\nndarray.").contains("is truncated"));
        let long = [b"c", &[b'a'; 100_000][..], b"\nb\n."].concat();
        assert!(message(&long).len() < 300);
    }

    #[test]
    fn other_instructions_are_named_with_their_place() {
        assert!(message(b"\x80\x02X\x01\x00\x00\x00a.").contains("0x58 (X) at byte 2"));
        assert!(message(b"\x93.").contains("0x93 (\\x93) at byte 0"));
        assert!(message(b"\x80\x04.").contains("protocol 4"));
        assert!(message(PLAIN).contains("0x73 (s) at byte 27"), "{}", message(PLAIN));
    }

    #[test]
    fn lengths_are_compared_with_the_file() {
        assert!(
            message(b"T\xff\xff\xff\xffabc.").contains("declares 4294967295 bytes at byte 5, but 4 follow")
        );
        assert!(message(b"U\x05abc.").contains("but 4 follow"));
        assert!(message(b"").contains("is truncated"));
    }

    #[test]
    fn values_that_are_missing_or_misplaced_are_errors() {
        let broken: [&[u8]; 14] = [
            b".",
            b"t.",
            b"K\x01\x86.",
            b"(K\x01.K",
            b"h\x00.",
            b"q\x00.",
            b"a.",
            b"]a.",
            b"]e.",
            b"K\x01(K\x02e.",
            b"}(K\x01u.",
            b"](K\x01K\x02u.",
            b"K\x01)R.",
            b"K\x01}b.",
        ];
        for bytes in broken {
            assert!(read(bytes).is_err(), "{}", bytes.escape_ascii());
        }
        // A tuple must not reach below the mark, or the mark would be above the stack.
        assert!(read(b"K\x01K\x01(\x86t.").is_err());
    }

    #[test]
    fn deep_nesting_and_repeated_doubling_stay_linear() {
        let mut nested = b"]".repeat(1_000_000);
        nested.extend(b"a".repeat(999_999));
        nested.push(b'.');
        assert_eq!(read(&nested).unwrap().nodes.len(), 1_000_000);
        // Each level contains the previous one twice: 2^200 leaves if they were copied.
        let mut laughs = b"(]q\x00".to_vec();
        for level in 0..200 {
            laughs.extend([b'h', level, b'h', level, 0x86, b'q', level + 1]);
        }
        laughs.extend(b"t.");
        assert_eq!(read(&laughs).unwrap().nodes.len(), 202);
        // A list that contains itself.
        let cycle = read(b"]q\x00h\x00a.").unwrap();
        assert_eq!(cycle.node(cycle.root).unwrap().items, [cycle.root]);
        let small = Budget { bytes: 1 << 20 };
        let refused = Pickle::read(&nested, Path::new("x"), &small);
        assert!(matches!(refused, Err(Error::Memory { .. })));
        assert!(read(b"K\x01r\xff\xff\xff\xff.").is_ok(), "a memo key is not a length");
    }
}
